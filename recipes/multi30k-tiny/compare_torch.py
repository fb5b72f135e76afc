#!/usr/bin/env python3
"""Trains the same model in PyTorch: the same initial weights, the same batches, the same settings.

    rapt train --config config.toml … --model initial --prepare    # weights and batches
    rapt train --config config.toml … --model run
    python compare_torch.py --initial initial --train T.src T.tgt --valid V.src V.tgt

Prints the validation loss (nats a target token, no smoothing) after each epoch, to stand beside
`rapt train`'s. Dropout draws other bits here, so the losses agree within its noise, not exactly.
Needs torch 2.13 and safetensors, which the project itself does not.
"""

import argparse
import json
import math
import pathlib
import time

import torch
from safetensors.torch import load_file

PAD, BOS, EOS, UNK = range(4)


class Model(torch.nn.Module):
    def __init__(self, config, vocabulary):
        super().__init__()
        width = config["d_model"]
        self.core = torch.nn.Transformer(
            width, config["heads"], config["encoder_layers"], config["decoder_layers"], config["d_ff"],
            dropout=0.0, activation=config["activation"], layer_norm_eps=config["norm_eps"],
            batch_first=True, norm_first=config["residual"] == "pre")
        self.set_dropout(config)
        self.embed = torch.nn.Embedding(vocabulary, width)
        angle = torch.arange(1024)[:, None] * torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
        self.register_buffer("position", torch.stack([angle.sin(), angle.cos()], -1).reshape(1024, width))

    def set_dropout(self, config):
        """The four sites of rapt, in the modules of nn.Transformer."""
        self.dropout = torch.nn.Dropout(config["dropout_embedding"])
        for layer in [*self.core.encoder.layers, *self.core.decoder.layers]:
            layer.self_attn.dropout = config["dropout_attention"]
            if hasattr(layer, "multihead_attn"):
                layer.multihead_attn.dropout = config["dropout_attention"]
            layer.dropout.p = config["dropout_activation"]
            for name in ("dropout1", "dropout2", "dropout3"):
                if hasattr(layer, name):
                    getattr(layer, name).p = config["dropout_residual"]

    def embedded(self, ids):
        x = self.embed(ids) * math.sqrt(self.embed.embedding_dim) + self.position[:ids.shape[1]]
        return self.dropout(x)

    def forward(self, source, target):
        padding = source == PAD
        future = torch.ones(target.shape[1], target.shape[1], dtype=torch.bool).triu(1)
        hidden = self.core(self.embedded(source), self.embedded(target), tgt_mask=future,
                           src_key_padding_mask=padding, tgt_key_padding_mask=target == PAD,
                           memory_key_padding_mask=padding)
        return torch.nn.functional.linear(hidden, self.embed.weight)

    def load(self, path):
        """Names are those of nn.Transformer; one table serves as both embeddings and the output."""
        weights = load_file(path)
        self.embed.weight.data.copy_(weights.pop("source_embedding.weight"))
        self.core.load_state_dict(weights)


def read_pairs(paths, index):
    sides = [pathlib.Path(p).read_text(encoding="utf-8").split("\n") for p in paths]
    pairs = [[[index.get(word, UNK) for word in line.split()] for line in pair] for pair in zip(*sides)]
    return pairs[:-1] if not any(pairs[-1]) else pairs


def tensors(pairs):
    def pad(rows):
        width = max(map(len, rows))
        return torch.tensor([row + [PAD] * (width - len(row)) for row in rows])

    return pad([s + [EOS] for s, _ in pairs]), pad([[BOS] + t for _, t in pairs]), pad([t + [EOS] for _, t in pairs])


def smoothed(logits, labels, epsilon, formula):
    """Sum over tokens, by PyTorch's formula or fairseq's."""
    log_p = torch.log_softmax(logits, -1)[labels != PAD]
    labels = labels[labels != PAD]
    nll, everything = -log_p.gather(1, labels[:, None]).sum(), -log_p.sum()
    if formula == "fairseq":
        share = epsilon / (logits.shape[-1] - 1)
        return (1 - epsilon - share) * nll + share * everything
    return (1 - epsilon) * nll + epsilon / logits.shape[-1] * everything


@torch.no_grad()
def validation_loss(model, pairs):
    model.eval()
    total = tokens = 0
    for i in range(0, len(pairs), 64):
        source, target, labels = tensors(pairs[i:i + 64])
        logits = model(source, target).flatten(0, 1)
        total += torch.nn.functional.cross_entropy(logits, labels.flatten(), ignore_index=PAD, reduction="sum").item()
        tokens += int((labels != PAD).sum())
    model.train()
    return total / tokens


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--initial", required=True, type=pathlib.Path)
    parser.add_argument("--train", nargs=2, required=True)
    parser.add_argument("--valid", nargs=2, required=True)
    parser.add_argument("--lr", type=float, default=0.005)
    parser.add_argument("--warmup", type=int, default=2000)
    parser.add_argument("--label-smoothing", type=float, default=0.1)
    parser.add_argument("--formula", choices=["pytorch", "fairseq"], default="fairseq")
    parser.add_argument("--clip", type=float, default=25.0)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    words = json.loads((args.initial / "vocabulary.json").read_text())
    index = {word: i for i, word in enumerate(words)}
    train, valid = read_pairs(args.train, index), read_pairs(args.valid, index)
    model = Model(json.loads((args.initial / "config.json").read_text()), len(words))
    model.load(args.initial / "model.safetensors")
    model.train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1.0, betas=(0.9, 0.98), eps=1e-8)
    print(f"initial: validation loss {validation_loss(model, valid):.4f}", flush=True)
    step, epoch, start = 0, 1, time.time()
    for line in (args.initial / "batches.jsonl").read_text().splitlines():
        update = json.loads(line)
        if update["epoch"] != epoch:
            print(f"epoch {epoch}: step {step}, validation loss {validation_loss(model, valid):.4f}, "
                  f"{time.time() - start:.0f} s", flush=True)
            epoch = update["epoch"]
        step += 1
        rate = args.lr * min(step / args.warmup, math.sqrt(args.warmup / step))
        optimizer.param_groups[0]["lr"] = rate
        source, target, labels = tensors([train[i] for shard in update["shards"] for i in shard])
        tokens = int((labels != PAD).sum())
        loss = smoothed(model(source, target), labels, args.label_smoothing, args.formula) / tokens
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        optimizer.step()
    print(f"epoch {epoch}: step {step}, validation loss {validation_loss(model, valid):.4f}, "
          f"{time.time() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()

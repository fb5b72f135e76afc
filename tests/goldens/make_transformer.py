#!/usr/bin/env python3
"""Whole nn.Transformer models in float64, for tests/transformer_golden_test.cc to compare with.

Needs PyTorch 2.13, NumPy and safetensors; the tests need none of them. From the top of the tree:
    python3 tests/goldens/make_transformer.py

Each case becomes <case>.safetensors with
    parameter.*, gradient.*  all parameters (rounded to float32 before use) and the loss's gradients
    updated.*                some of the parameters after 20 steps of AdamW
    logits                   [target rows, vocabulary], before the first step
The file transformer.json has the configurations, the ids (sentence after sentence, no padding),
the losses before each step and after the last, and the errors that PyTorch itself makes when it
computes the same in float32: the scale of the test's tolerances.

Sentences have different lengths. PyTorch sees them padded, with masks; only rows that are tokens
are kept, so padding must have no influence whatever.
"""

import json
import math
import re
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import nn
from torch.nn.functional import cross_entropy

FOLDER = Path(__file__).parent
PAD = 0
STEPS = 20

BASE = {
    "architecture": "encoder-decoder", "d_model": 16, "heads": 2, "d_ff": 32,
    "encoder_layers": 2, "decoder_layers": 2, "residual": "post", "final_norm": True,
    "norm_eps": 1e-5, "activation": "relu", "tie": "none", "output_bias": True,
    "kv_heads": 0, "window": 0, "attention_sink": False,
    "positions": "sinusoidal", "position_layout": "interleaved", "rotary_base": 10000.0,
    "source_vocabulary": 23, "target_vocabulary": 19, "label_smoothing": 0.1,
    "source_lengths": [7, 3, 1, 5], "target_lengths": [4, 6, 2, 1],
    "lr": 0.002, "beta1": 0.9, "beta2": 0.98, "eps": 1e-8,
    "weight_decay": 0.05, "decay": "matrices", "clip": 0.0, "seed": 1,
}
CASES = {
    "post_relu": {"decay": "all"},
    "pre_gelu": {"residual": "pre", "activation": "gelu", "heads": 4, "d_ff": 40, "seed": 2},
    # All three vocabularies are one tensor; no final norms, as in the paper.
    "post_gelu_tied": {"activation": "gelu", "tie": "all", "final_norm": False,
                       "target_vocabulary": 23, "weight_decay": 0.0, "seed": 3},
    # Depths that differ, a head of odd width, no smoothing, no bias at the end.
    "pre_relu_tied_decoder": {"residual": "pre", "d_model": 20, "heads": 4, "encoder_layers": 1,
                              "tie": "decoder", "output_bias": False, "label_smoothing": 0.0,
                              "norm_eps": 1e-3, "clip": 0.5, "seed": 4},
    "decoder_only": {"architecture": "decoder", "residual": "pre", "activation": "gelu",
                     "encoder_layers": 0, "heads": 4, "tie": "decoder", "clip": 1.0, "seed": 5},
    "decoder_rotary_masks": {"architecture": "decoder", "residual": "pre", "encoder_layers": 0,
                             "heads": 4, "kv_heads": 2, "window": 2, "attention_sink": True,
                             "positions": "rotary", "tie": "decoder", "seed": 6},
    # A number of heads that is no power of two.
    "alibi_masks": {"d_model": 24, "heads": 6, "kv_heads": 2, "window": 3, "attention_sink": True,
                    "positions": "alibi", "encoder_layers": 1, "seed": 7},
    "rotary_halves": {"kv_heads": 1, "positions": "rotary", "position_layout": "halves",
                      "rotary_base": 100.0, "encoder_layers": 1, "seed": 8},
}


def sinusoids(length, d_model):
    """PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos(the same)."""
    i = torch.arange(0, d_model, 2, dtype=torch.float64)
    angles = torch.arange(length, dtype=torch.float64)[:, None] * 10000.0 ** (-i / d_model)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).reshape(length, d_model)


def causal(length):
    return torch.ones(length, length, dtype=torch.bool).triu(1)


def rotated(x, config):
    """x [batch, heads, length, dim]: pair i of columns turned by position * base^(-2i / dim)."""
    length, dim = x.shape[-2:]
    i = torch.arange(dim // 2, dtype=torch.float64)
    angles = (torch.arange(length, dtype=torch.float64)[:, None]
              * config["rotary_base"] ** (-2 * i / dim))
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    if config["position_layout"] == "halves":
        a, b = x[..., :dim // 2], x[..., dim // 2:]
        return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([a * cos - b * sin, b * cos + a * sin], dim=-1).flatten(-2)


def slopes(heads):
    """The function of the authors of ALiBi, in their words: get_slopes."""
    def of_power(n):
        start = 2 ** (-2 ** -(math.log2(n) - 3))
        return [start * start ** i for i in range(n)]
    if math.log2(heads).is_integer():
        return of_power(heads)
    closest = 2 ** math.floor(math.log2(heads))
    return of_power(closest) + slopes(2 * closest)[0::2][:heads - closest]


class Attention(nn.Module):
    """nn.MultiheadAttention by hand, with its names, and what it does not have: fewer heads of keys
    than of queries, a sink, and in self-attention a window, ALiBi and rotary positions."""

    batch_first = True  # nn.TransformerEncoder asks

    def __init__(self, config, crosses):
        super().__init__()
        self.config, self.crosses, self.heads = config, crosses, config["heads"]
        self.kv_heads = config["kv_heads"] or self.heads
        d_model = config["d_model"]
        self.dim = d_model // self.heads
        rows = (self.heads + 2 * self.kv_heads) * self.dim
        self.in_proj_weight = nn.Parameter(torch.empty(rows, d_model))
        self.in_proj_bias = nn.Parameter(torch.empty(rows))
        if config["attention_sink"]:
            self.sink = nn.Parameter(torch.empty(self.heads))
        self.out_proj = nn.Linear(d_model, d_model)

    def project(self, x, first_head, heads):
        rows = slice(first_head * self.dim, (first_head + heads) * self.dim)
        y = nn.functional.linear(x, self.in_proj_weight[rows], self.in_proj_bias[rows])
        return y.unflatten(-1, (heads, self.dim)).transpose(1, 2)

    def forward(self, query, key, value, attn_mask=None, key_padding_mask=None, **_):
        q = self.project(query, 0, self.heads)
        k = self.project(key, self.heads, self.kv_heads)
        v = self.project(value, self.heads + self.kv_heads, self.kv_heads)
        if self.config["positions"] == "rotary" and not self.crosses:
            q, k = rotated(q, self.config), rotated(k, self.config)
        k, v = (x.repeat_interleave(self.heads // self.kv_heads, dim=1) for x in (k, v))
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.dim)

        def hides(mask):  # bools, or what the layers make of them
            return mask if mask.dtype == torch.bool else mask == -math.inf
        hidden = hides(key_padding_mask)[:, None, None, :]
        if attn_mask is not None:
            hidden = hidden | hides(attn_mask)
        if not self.crosses:
            t = torch.arange(q.shape[-2])
            distance = (t[:, None] - t[None, :]).abs()
            if self.config["window"]:
                hidden = hidden | (distance > self.config["window"])
            if self.config["positions"] == "alibi":
                steps = torch.tensor(slopes(self.heads), dtype=torch.float64).to(scores.dtype)
                scores = scores - steps[:, None, None] * distance
        # Not -inf: a row of padding may see nothing, and must not become NaN.
        scores = scores.masked_fill(hidden, -1e30)
        if self.config["attention_sink"]:
            sink = self.sink[:, None, None].expand(*scores.shape[:-1], 1)
            weights = torch.cat([scores, sink], dim=-1).softmax(-1)[..., :-1]
        else:
            weights = scores.softmax(-1)
        return self.out_proj((weights @ v).transpose(1, 2).flatten(-2)), None


def by_hand(config):
    """Whether the case has what nn.MultiheadAttention has not."""
    return (config["kv_heads"] or config["window"] or config["attention_sink"]
            or config["positions"] != "sinusoidal")


class Model(nn.Module):
    """Embeddings, positions and output projection around PyTorch's own layers."""

    def __init__(self, config, hand=None):
        super().__init__()
        self.config = config
        d_model, final_norm = config["d_model"], config["final_norm"]
        layer = {"d_model": d_model, "nhead": config["heads"], "dim_feedforward": config["d_ff"],
                 "dropout": 0.0, "activation": config["activation"], "batch_first": True,
                 "norm_first": config["residual"] == "pre", "layer_norm_eps": config["norm_eps"]}

        def norm():
            return nn.LayerNorm(d_model, eps=config["norm_eps"]) if final_norm else None

        def stack(kind, name):
            return nn.TransformerEncoder(kind(**layer), config[f"{name}_layers"], norm(),
                                         enable_nested_tensor=False)

        if config["architecture"] == "encoder-decoder":
            self.source_embedding = nn.Embedding(config["source_vocabulary"], d_model)
            self.encoder = stack(nn.TransformerEncoderLayer, "encoder")
            self.decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(**layer),
                                                 config["decoder_layers"], norm())
        else:
            self.decoder = stack(nn.TransformerEncoderLayer, "decoder")
        if by_hand(config) if hand is None else hand:
            for layer in list(self.modules()):
                for name in ("self_attn", "multihead_attn"):
                    if hasattr(layer, name):
                        setattr(layer, name, Attention(config, name == "multihead_attn"))
        self.target_embedding = nn.Embedding(config["target_vocabulary"], d_model)
        self.output = nn.Linear(d_model, config["target_vocabulary"], bias=config["output_bias"])
        if config["tie"] != "none":
            self.output.weight = self.target_embedding.weight
        if config["tie"] == "all":
            self.output.weight = self.target_embedding.weight = self.source_embedding.weight

    def initialise(self, generator):
        """Values of a trained model's size, none of them special: no zero bias, no unit gamma."""
        for name, parameter in self.named_parameters():
            values = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            if "norm" in name:
                values = values * 0.2 + (1.0 if name.endswith("weight") else 0.0)
            elif parameter.dim() == 1:
                values *= 0.1
            else:
                values *= parameter.shape[-1] ** -0.5
            parameter.data = values.float().to(parameter.dtype)

    def embed(self, embedding, ids):
        d_model = self.config["d_model"]
        x = embedding(ids) * math.sqrt(d_model)
        if self.config["positions"] != "sinusoidal":
            return x
        return x + sinusoids(ids.shape[1], d_model).to(x.dtype)

    def forward(self, batch):
        target = self.embed(self.target_embedding, batch["target_in"])
        mask, padded = causal(target.shape[1]), batch["target_padded"]
        if self.config["architecture"] == "decoder":
            y = self.decoder(target, mask=mask, src_key_padding_mask=padded)
        else:
            source = self.embed(self.source_embedding, batch["source"])
            memory = self.encoder(source, src_key_padding_mask=batch["source_padded"])
            y = self.decoder(target, memory, tgt_mask=mask, tgt_key_padding_mask=padded,
                             memory_key_padding_mask=batch["source_padded"])
        return self.output(y[~padded])  # the rows that are tokens, sentence after sentence

    def loss(self, batch):
        """Mean over target tokens; smoothing spreads epsilon over the whole vocabulary."""
        return cross_entropy(self(batch), batch["target_out"][~batch["target_padded"]],
                             label_smoothing=self.config["label_smoothing"])


def pad(lengths, vocabulary, generator):
    """Random ids [sentences, longest], and where they are padding."""
    padded = torch.arange(max(lengths))[None, :] >= torch.tensor(lengths)[:, None]
    ids = torch.randint(1, vocabulary, padded.shape, generator=generator)
    return ids.masked_fill(padded, PAD), padded


def make_batch(config, generator):
    batch = {}
    if config["architecture"] == "encoder-decoder":
        batch["source"], batch["source_padded"] = pad(
            config["source_lengths"], config["source_vocabulary"], generator)
    for name in ("target_in", "target_out"):
        batch[name], batch["target_padded"] = pad(
            config["target_lengths"], config["target_vocabulary"], generator)
    return batch


def optimizer_of(model, config):
    parameters = list(model.parameters())
    matrices = [p for p in parameters if p.dim() > 1 or config["decay"] == "all"]
    others = [p for p in parameters if p.dim() == 1 and config["decay"] != "all"]
    groups = [{"params": matrices, "weight_decay": config["weight_decay"]},
              {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW([group for group in groups if group["params"]], lr=config["lr"],
                             betas=(config["beta1"], config["beta2"]), eps=config["eps"])


def run(config, dtype):
    """Everything that a golden holds, computed in one precision; the numbers come as float64."""
    generator = torch.Generator().manual_seed(config["seed"])
    model = Model(config).to(dtype)
    model.initialise(generator)
    batch = make_batch(config, generator)
    named = dict(model.named_parameters())
    result = {"batch": batch, "logits": model(batch).detach().double(),
              "parameters": {name: p.detach().double().clone() for name, p in named.items()}}
    optimizer = optimizer_of(model, config)
    losses, norms = [], []
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = model.loss(batch)
        loss.backward()
        if step == 0:
            result["gradients"] = {name: p.grad.double().clone() for name, p in named.items()}
        norms.append(nn.utils.clip_grad_norm_(named.values(), config["clip"] or math.inf).item())
        losses.append(loss.item())
        optimizer.step()
    losses.append(model.loss(batch).item())
    return {**result, "losses": losses, "grad_norms": norms,
            "updated": {name: p.detach().double().clone() for name, p in named.items()}}


def chosen(name):
    """Parameters whose values after the steps are kept. Not in_proj_bias: the loss does not depend
    on the bias of the keys, so its gradient is rounding alone, which AdamW brings to full size."""
    return "layers.1." not in name and "in_proj_bias" not in name


def relative(x, y):
    """|x - y| / |y|, Euclidean."""
    return ((x - y).norm() / y.norm()).item()


def float32_errors(exact, single):
    """The largest relative errors of float32 over all tensors; of the updates, that of w20 - w0."""
    def moved(result, name):
        return result["updated"][name] - result["parameters"][name]
    names = exact["parameters"]
    return {
        "loss": max(abs(x - y) for x, y in zip(single["losses"], exact["losses"])),
        "logits": relative(single["logits"], exact["logits"]),
        "gradients": max(relative(single["gradients"][n], exact["gradients"][n]) for n in names),
        "updates": max(relative(moved(single, n), moved(exact, n)) for n in names if chosen(n)),
    }


def check_attention_by_hand(config):
    """Attention above gives what nn.MultiheadAttention gives, where that has all that is asked."""
    logits = []
    for hand in (False, True):
        generator = torch.Generator().manual_seed(config["seed"])
        model = Model(config, hand).to(torch.float64)
        model.initialise(generator)
        logits.append(model(make_batch(config, generator)))
    assert relative(logits[1], logits[0]) < 1e-14, relative(logits[1], logits[0])


def tensors_of(result):
    tensors = {"logits": result["logits"].float()}
    for kind, values in (("parameter", result["parameters"]), ("gradient", result["gradients"]),
                         ("updated", result["updated"])):
        for name, value in values.items():
            if kind != "updated" or chosen(name):
                tensors[f"{kind}.{name}"] = value.float().contiguous()
    return tensors


def ids_of(batch):
    """The ids that are tokens, sentence after sentence."""
    padded = {"source": "source_padded", "target_in": "target_padded",
              "target_out": "target_padded"}
    return {name: batch[name][~batch[mask]].tolist()
            for name, mask in padded.items() if name in batch}


def main():
    torch.set_num_threads(1)
    index = {}
    for name, changes in CASES.items():
        config = {**BASE, **changes}
        if not by_hand(config):
            check_attention_by_hand(config)
        exact, single = run(config, torch.float64), run(config, torch.float32)
        save_file(tensors_of(exact), FOLDER / f"{name}.safetensors", metadata={"format": "pt"})
        (FOLDER / f"{name}.safetensors").chmod(0o644)
        index[name] = {**config, **ids_of(exact["batch"]), "losses": exact["losses"],
                       "grad_norms": exact["grad_norms"],
                       "float32_errors": float32_errors(exact, single)}
        print(name, exact["losses"][0], exact["losses"][-1], index[name]["float32_errors"])
    text = json.dumps(index, indent=1)
    text = re.sub(r"\n   +(?=[-\d\]])", " ", text)  # a list of numbers on one line
    (FOLDER / "transformer.json").write_text(text + "\n")


if __name__ == "__main__":
    main()

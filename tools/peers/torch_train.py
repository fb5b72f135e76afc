"""PyTorch: training steps of nn.Transformer on the batches of `rapt bench train`.

Post-norm, sinusoidal positions, one table for embeddings and output, label smoothing 0.1, AdamW (fused).
"""

import math
import time

import common
import corpus


def make_model(torch, size, vocabulary):
    d_model, d_ff, heads, layers, dropout = common.SIZES[size]

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.transformer = torch.nn.Transformer(d_model, heads, layers, layers, d_ff, dropout, batch_first=True)
            self.table = torch.nn.Embedding(vocabulary, d_model, padding_idx=corpus.PAD)
            torch.nn.init.normal_(self.table.weight, std=d_model**-0.5)
            self.dropout = torch.nn.Dropout(dropout)
            rate = torch.exp(torch.arange(0, d_model, 2) * (-math.log(1e4) / d_model))
            angles = torch.arange(1024)[:, None] * rate
            self.register_buffer("positions", torch.stack([angles.sin(), angles.cos()], 2).flatten(1))

        def embed(self, ids):
            return self.dropout(self.table(ids) * math.sqrt(self.table.embedding_dim) + self.positions[:ids.shape[1]])

        def forward(self, source, target):
            hidden_keys = source == corpus.PAD
            n = target.shape[1]
            later = torch.ones(n, n, dtype=torch.bool).triu(1)
            y = self.transformer(self.embed(source), self.embed(target), tgt_mask=later, tgt_is_causal=True,
                                 src_key_padding_mask=hidden_keys, memory_key_padding_mask=hidden_keys,
                                 tgt_key_padding_mask=target == corpus.PAD)
            return y @ self.table.weight.T

    return Model().train()


def main():
    args = common.options(__doc__, size={"choices": common.SIZES, "default": "tiny"}, data={"required": True},
                          target_tokens={"type": int, "default": 4096}, steps={"type": int, "default": 4})
    torch = common.torch_of(args)
    pairs, vocabulary = corpus.load(args.data)
    data = [[torch.tensor(side) for side in corpus.tensors(batch)]
            for batch in corpus.batches(pairs, args.target_tokens)[:args.steps]]
    model = make_model(torch, args.size, vocabulary)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def step(source, target, label):
        logits = model(source, target)
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), label.flatten(), ignore_index=corpus.PAD,
                                                 label_smoothing=0.1)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        return loss.item()

    start = time.perf_counter()
    first_loss = step(*data[0])
    first_step_s = time.perf_counter() - start
    for batch in data[1:3]:
        step(*batch)
    passes = []
    for _ in range(args.rounds):
        watch = common.Stopwatch()
        for batch in data:
            last_loss = step(*batch)
        passes.append([ms / len(data) for ms in watch.sample()])
    times, n = common.timing(passes, args.threads), len(data)
    tokens = sum(int((label != corpus.PAD).sum()) for _, _, label in data)
    common.emit(peer="torch", case="train_" + args.size, mode="eager", threads=args.threads, dtype="float32",
                shape={"target_tokens": tokens / n, "vocabulary": vocabulary,
                       "parameters": sum(p.numel() for p in model.parameters())},
                steps=n, **times, tokens_per_s=1e3 * tokens / n / times["ms"],
                tokens_per_s_median=1e3 * tokens / n / times["ms_median"],
                first_step_s=first_step_s, first_loss=first_loss, last_loss=last_loss,
                peak_rss_mb=common.peak_rss_mb(), version=torch.__version__)


if __name__ == "__main__":
    main()

"""PyTorch: scaled_dot_product_attention in the cases of `rapt bench attention`."""

import common


def ragged(torch):
    """64 sentences of 5 to 60 tokens, padded, with a mask: queries, keys to see."""
    lengths = torch.tensor([5 + i * 37 % 56 for i in range(64)])
    return (torch.arange(60)[None] < lengths[:, None])[:, None, None, :]


def cases_of(torch, batch, heads, t, d, variants):
    def random():
        return torch.randn(batch, t, heads, d).transpose(1, 2)  # [B, T, H, D] in memory, as a projection writes it

    q, k, v, dy = random(), random(), random(), random()
    leaves = [x.detach().requires_grad_() for x in (q, k, v)]
    attention = torch.nn.functional.scaled_dot_product_attention
    cases = {}
    for name, (mask, dropout, causal) in variants.items():
        def forward(more=(mask, dropout, causal)):
            with torch.no_grad():
                attention(q, k, v, *more)

        def both(more=(mask, dropout, causal)):
            torch.autograd.grad(attention(*leaves, *more), leaves, dy)

        cases[f"attention_{name}_forward"] = forward
        cases[f"attention_{name}_forward_backward"] = both
    return cases


def main():
    args = common.options(__doc__, tokens={"type": int, "default": 4096}, longest={"type": int, "default": 2048})
    torch = common.torch_of(args)
    shapes = [(t, 64) for t in (32, 64, 128, 256, 512, 1024, 2048, 8192) if t <= args.longest]
    shapes += [(512, 32), (512, 128)] if args.longest >= 512 else []
    work = []
    for t, d in shapes:
        batch = max(1, args.tokens // t)
        lengths = torch.linspace(t // 2, t, batch).long() if batch > 1 else torch.tensor([3 * t // 4])
        mask = (torch.arange(t)[None] < lengths[:, None])[:, None, None, :]
        work.append((batch, t, d, {"dense": (None, 0.0, False), "causal": (None, 0.0, True),
                                   "key_mask": (mask, 0.0, False), "dropout": (None, 0.1, False)}))
    work.append((64, 60, 64, {"ragged": (ragged(torch), 0.0, False)}))
    for batch, t, d, variants in work:
        cases = cases_of(torch, batch, 8, t, d, variants)
        for name, times in common.interleave(cases, args).items():
            common.emit(peer="torch", case=name, threads=args.threads, dtype="float32",
                        shape={"B": batch, "H": 8, "T": t, "D": d}, **times)
    common.emit(peer="torch", case="attention_peak_rss", threads=args.threads, peak_rss_mb=common.peak_rss_mb())


if __name__ == "__main__":
    main()

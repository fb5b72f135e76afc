"""PyTorch: TransformerEncoder for inference, on nested tensors, in the case of `rapt bench encode`."""

import common


def main():
    args = common.options(__doc__, size={"choices": common.SIZES, "default": "base"})
    torch = common.torch_of(args)
    d_model, d_ff, heads, layers, dropout = common.SIZES[args.size]
    layer = torch.nn.TransformerEncoderLayer(d_model, heads, d_ff, dropout, batch_first=True)
    encoder = torch.nn.TransformerEncoder(layer, layers, enable_nested_tensor=True).eval()
    lengths = torch.tensor([5 + i * 37 % 56 for i in range(64)])
    tokens, longest = int(lengths.sum()), int(lengths.max())
    x = torch.randn(64, longest, d_model)
    padding = torch.arange(longest)[None] >= lengths[:, None]
    with torch.inference_mode():
        cases = {"encoder_nested": lambda: encoder(x, src_key_padding_mask=padding)}
        times = common.interleave(cases, args)["encoder_nested"]
    common.emit(peer="torch", case="encoder_nested", threads=args.threads, dtype="float32",
                shape={"size": args.size, "sentences": 64, "tokens": tokens}, **times,
                tokens_per_s=1e3 * tokens / times["ms"], rss_mb=common.rss_mb())


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""The same feed-forward network in PyTorch, with the weights and the input of examples/feed_forward.cc.

Needs PyTorch, NumPy and safetensors; the tests need none of them.
    example_feed_forward feed_forward.safetensors
    python3 examples/feed_forward.py feed_forward.safetensors
With a second argument it writes what the test compares with: some of PyTorch's numbers, in float64.
    python3 examples/feed_forward.py feed_forward.safetensors tests/goldens/feed_forward.json
"""

import json
import pathlib
import sys

import torch
from safetensors.torch import load_file
from torch import nn


class FeedForward(nn.Module):
    def __init__(self, d_model=512, d_ff=2048, dropout=0.1):
        super().__init__()
        self.linear1 = nn.Linear(d_model, d_ff)
        self.dropout = nn.Dropout(dropout)
        self.linear2 = nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.linear2(self.dropout(torch.relu(self.linear1(x))))


def golden(output, float32_error):
    """Eight tokens of different sentences, eight neighbouring columns each; and the largest error of
    PyTorch in float32, the scale of the test's tolerance."""
    rows = []
    for n in range(8):
        sentence, token, column = 9 * n, 14 * n, 72 * n
        rows.append({"at": [sentence, token, column],
                     "values": output[sentence, token, column:column + 8].tolist()})
    return {"shape": list(output.shape), "float32_error": float32_error, "mean": output.mean().item(),
            "mean_square": output.square().mean().item(), "rows": rows}


def main():
    tensors = load_file(sys.argv[1])
    ours, x = tensors.pop("output"), tensors.pop("input")
    module = FeedForward()
    module.load_state_dict(tensors)
    module.eval()
    with torch.no_grad():
        single, exact = module(x), module.double()(x.double())
    print(module)
    print("input  ", list(x.shape))
    print("output ", list(exact.shape))
    print("output[0, 0, :4]  ", *(f"{v:.6g}" for v in single[0, 0, :4].tolist()))
    errors = {name: (y.double() - exact).abs().max().item()
              for name, y in (("PyTorch", single), ("rapt", ours))}
    for name, error in errors.items():
        print(f"largest difference of {name} in float32 from PyTorch in float64: {error:.2g}")
    if len(sys.argv) > 2:
        text = json.dumps(golden(exact, errors["PyTorch"]), indent=1)
        pathlib.Path(sys.argv[2]).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

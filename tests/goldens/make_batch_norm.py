#!/usr/bin/env python3
"""torch.nn.BatchNorm1d in float64, for tests/batch_norm_golden_test.cc to compare with.

Needs PyTorch 2.13, NumPy and safetensors; the test needs none of them. From the top of the tree:
    python3 tests/goldens/make_batch_norm.py

Three training batches of different sizes, then evaluation of the first with what they left:
    gamma, beta, x0 … x2, dy0 … dy2    inputs, rounded to float32 before use
    y0 … y2, dx0 … dx2                 of training
    dgamma, dbeta                      summed over the three batches
    running_mean, running_var          after them
    eval_y, eval_dx                    of x0 and dy0, by the running moments
"""

from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import nn

WIDTH, SIZES = 6, (13, 70, 2)


def main():
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(1)

    def draw(*shape):
        return torch.randn(shape, generator=generator).double()

    norm = nn.BatchNorm1d(WIDTH).double()
    norm.weight.data, norm.bias.data = draw(WIDTH), draw(WIDTH)
    tensors = {"gamma": norm.weight.detach().clone(), "beta": norm.bias.detach().clone()}

    def run(x, dy):
        x = x.clone().requires_grad_()
        y = norm(x)
        y.backward(dy)
        return y.detach(), x.grad

    for i, size in enumerate(SIZES):
        x, dy = 3 * draw(size, WIDTH) + 2, draw(size, WIDTH)
        x, dy = x.float().double(), dy.float().double()
        tensors[f"x{i}"], tensors[f"dy{i}"] = x, dy
        tensors[f"y{i}"], tensors[f"dx{i}"] = run(x, dy)
    tensors["dgamma"], tensors["dbeta"] = norm.weight.grad.clone(), norm.bias.grad.clone()
    tensors["running_mean"], tensors["running_var"] = norm.running_mean, norm.running_var
    norm.eval()
    tensors["eval_y"], tensors["eval_dx"] = run(tensors["x0"], tensors["dy0"])

    path = Path(__file__).parent / "batch_norm.safetensors"
    save_file({name: t.float().contiguous() for name, t in tensors.items()}, path)
    path.chmod(0o644)


if __name__ == "__main__":
    main()

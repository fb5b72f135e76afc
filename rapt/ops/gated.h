// The gated product of the GLU family: y = m * act(a) * b   (docs/math/gated.md).
//   sigmoid  GLU (Dauphin et al., 2017)          relu  ReGLU        gelu  GEGLU
//   silu     SwiGLU (Shazeer, 2020)              none  bilinear
#pragma once
#include "rapt/kernels/activation.h"
#include "rapt/ops/dropout.h"

namespace rapt::ops {

// a, b [rows, d], of one shape; rows are those of `lengths`. Throws InvalidArgument otherwise.
Var gated(Context& ctx, const Var& a, const Var& b, kernels::Activation activation,
          const Dropout& dropout, const Lengths& lengths);

}  // namespace rapt::ops

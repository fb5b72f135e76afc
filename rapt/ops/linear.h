// The linear layer with its activation (docs/math/linear.md):
//   z = x W^T + b     y = act(z)        W [out, in], b [out] or none
//   dz = dy * act'(z)     dx = dz W     dW += dz^T x     db += sum over rows of dz
#pragma once
#include "rapt/autograd/context.h"
#include "rapt/kernels/activation.h"
#include "rapt/ops/weight.h"

namespace rapt::ops {

// Rows [first, last) of W and of b: the part of a fused projection that acts on this x.
struct Rows {
  size_t first = 0, last = 0;
};

// x [rows, in], y [rows, out]. Inference uses the packed form if there is one; recording with a
// packed weight throws InvalidArgument, as do shapes that do not fit.
Var linear(Context& ctx, const Var& x, const Weight& w, const Parameter* bias,
           kernels::Activation activation = kernels::Activation::kNone);

// y [rows, part.last - part.first]. In a packed weight a part starts at a multiple of
// PackedB::kWidth, else InvalidArgument.
Var linear_part(Context& ctx, const Var& x, const Weight& w, const Parameter* bias, Rows part);

// The same for a matrix that is no parameter of a model.
Var linear(Context& ctx, const Var& x, const Var& w, const Var* bias,
           kernels::Activation activation = kernels::Activation::kNone);

}  // namespace rapt::ops

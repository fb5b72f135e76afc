// An activation, with dropout of its result if wanted: y = m * act(x)   (docs/math/activate.md).
// kernels/activation.h has the formulas. Where nothing is dropped, `linear` applies its activation
// itself and needs no pass of its own.
#pragma once
#include "rapt/kernels/activation.h"
#include "rapt/ops/dropout.h"

namespace rapt::ops {

Var activate(Context& ctx, const Var& x, kernels::Activation activation);

// x [rows, d]; rows are those of `lengths`. After `linear` without an activation, this reads and
// keeps less than linear's own activation and a dropout behind it: for ReLU only y.
Var activate(Context& ctx, const Var& x, kernels::Activation activation, const Dropout& dropout,
             const Lengths& lengths);

}  // namespace rapt::ops

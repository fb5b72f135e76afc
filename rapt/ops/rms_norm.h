// Root mean square normalisation of each row: y = gamma * x / sqrt(mean(x^2) + eps).
// docs/math/rms_norm.md derives the gradient.
#pragma once
#include "rapt/autograd/context.h"

namespace rapt::ops {

// x [..., d], gamma [d]; d >= 1. Throws InvalidArgument on other shapes.
Var rms_norm(Context& ctx, const Var& x, const Var& gamma, float eps);

}  // namespace rapt::ops

// Layer normalisation of each row: y = gamma * (x - mean) / sqrt(var + eps) + beta.
// docs/math/layer_norm.md derives the gradient.
#pragma once
#include "rapt/autograd/context.h"

namespace rapt::ops {

// x [..., d], gamma [d], beta [d]; d >= 1. Throws InvalidArgument on other shapes.
Var layer_norm(Context& ctx, const Var& x, const Var& gamma, const Var& beta, float eps);

}  // namespace rapt::ops

// y = factor * x   (docs/math/scale.md).
#pragma once
#include "rapt/autograd/context.h"

namespace rapt::ops {

Var scale(Context& ctx, const Var& x, float factor);

}  // namespace rapt::ops

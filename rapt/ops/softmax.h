// Softmax of each row: y = e^x / sum(e^x)   (docs/math/softmax.md).
// A row that is -infinity throughout gives zeros, and gradient zero.
#pragma once
#include "rapt/autograd/context.h"

namespace rapt::ops {

Var softmax(Context& ctx, const Var& x);

}  // namespace rapt::ops

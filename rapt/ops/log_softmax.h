// Logarithm of the softmax of each row: y = x - log(sum(e^x))   (docs/math/log_softmax.md).
// A row that is -infinity throughout stays so. Decoding and scoring share these bits.
#pragma once
#include "rapt/autograd/context.h"

namespace rapt::ops {

Var log_softmax(Context& ctx, const Var& x);

}  // namespace rapt::ops

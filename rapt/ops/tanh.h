// A bounded identity: y = bound tanh(x / bound)   (docs/math/tanh.md). With bound 1 it is tanh.
#pragma once
#include "rapt/autograd/context.h"

namespace rapt::ops {

// Throws InvalidArgument unless bound > 0.
Var tanh(Context& ctx, const Var& x, float bound = 1.0f);

}  // namespace rapt::ops

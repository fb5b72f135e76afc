// y = a + b, of one shape   (docs/math/add.md).
#pragma once
#include "rapt/autograd/context.h"

namespace rapt::ops {

// Throws InvalidArgument if the shapes differ: nothing is broadcast.
Var add(Context& ctx, const Var& a, const Var& b);

}  // namespace rapt::ops

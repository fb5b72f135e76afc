// Rows of a matrix by their index: y[r] = x[index[r]]   (docs/math/gather_rows.md).
#pragma once
#include <cstdint>
#include <span>

#include "rapt/autograd/context.h"

namespace rapt::ops {

// x [n, d], y [index.size(), d]. An index may come more than once; its gradients add in order of r.
// Throws InvalidArgument for an index outside of [0, n).
Var gather_rows(Context& ctx, const Var& x, std::span<const int32_t> index);

}  // namespace rapt::ops

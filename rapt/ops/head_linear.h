// A matrix of its own for each head (docs/math/head_linear.md): y_h = x_h W_h^T
//   dx_h = dy_h W_h          dW_h = dy_h^T x_h
#pragma once
#include "rapt/ops/heads.h"

namespace rapt::ops {

// w [x.count, out, x.dim]; y [x.rows.rows(), x.count * out].
Var head_linear(Context& ctx, const Heads& x, const Var& w);

}  // namespace rapt::ops

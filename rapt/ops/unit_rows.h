// Each head of each row scaled to length 1, times a gain of the head (docs/math/unit_rows.md):
//   y_h = g_h x_h / sqrt(sum(x_h^2) + eps)
#pragma once
#include "rapt/ops/heads.h"

namespace rapt::ops {

// y [x.rows.rows(), x.width()]; gain [x.count], or null for 1.
Var unit_rows(Context& ctx, const Heads& x, const Var* gain, float eps);

}  // namespace rapt::ops

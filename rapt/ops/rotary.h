// Rotary positions (Su et al., 2021): turns pairs of columns by the position of their row, so that
// the product of a query and a key depends on the distance between them (docs/math/rotary.md).
#pragma once
#include "rapt/autograd/context.h"
#include "rapt/base/lengths.h"
#include "rapt/kernels/rotary.h"

namespace rapt::ops {

// x [rows.rows(), d]: its first `heads` heads are turned, of dim columns each, half of the table's;
// the other columns stay. The table [positions, 2 dim] is a constant, laid out as kernels/rotary.h
// says. Throws InvalidArgument for a position that it does not have.
Var rotary(Context& ctx, const Var& x, const Lengths& rows, const Tensor& table, size_t heads,
           kernels::RotaryPairs pairs);

}  // namespace rapt::ops

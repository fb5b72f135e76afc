// The residual connection around a sublayer, with dropout and layer normalisation, in one pass:
//   s = alpha x + dropout(sub)        y = LayerNorm(s)                (docs/math/add_norm.md)
// Of a training step it keeps s and two numbers a row; the dropout bits are drawn again. All of x,
// sub [rows, d], gamma, beta [d]; rows are those of `lengths`. Throws InvalidArgument otherwise.
#pragma once
#include <array>

#include "rapt/ops/dropout.h"

namespace rapt::ops {

// y: the paper's order, normalisation after the sum; alpha is 1 but in DeepNorm.
Var add_norm(Context& ctx, const Var& x, const Var& sub, const Var& gamma, const Var& beta,
             float eps, const Dropout& dropout, const Lengths& lengths, float alpha = 1);

// {s, y} with alpha = 1: normalisation before the next sublayer, whose own sum takes s.
std::array<Var, 2> add_then_norm(Context& ctx, const Var& x, const Var& sub, const Var& gamma,
                                 const Var& beta, float eps, const Dropout& dropout,
                                 const Lengths& lengths);

// s with alpha = 1.
Var add_dropout(Context& ctx, const Var& x, const Var& sub, const Dropout& dropout,
                const Lengths& lengths);

}  // namespace rapt::ops

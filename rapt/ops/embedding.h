// Embeddings of tokens, with positions and dropout in one pass (docs/math/embedding.md):
//   y[r] = dropout(scale * table[ids[r]] + positions[position of row r])
// The gradient of a row of the table adds its tokens in order of rows, for any number of threads.
#pragma once
#include <cstdint>
#include <span>

#include "rapt/ops/dropout.h"
#include "rapt/ops/weight.h"

namespace rapt::ops {

// table [vocabulary, d]; positions [most positions, d] or null: a constant (sinusoids) or a variable
// (learned). One id a row of `lengths`, which also names the positions. A packed table serves in
// inference. Throws InvalidArgument for ids and positions that the tables do not have.
Var embedding(Context& ctx, const Weight& table, std::span<const int32_t> ids, float scale,
              const Var* positions, const Dropout& dropout, const Lengths& lengths);

// The same for a matrix that is no parameter of a model.
Var embedding(Context& ctx, const Var& table, std::span<const int32_t> ids, float scale,
              const Var* positions, const Dropout& dropout, const Lengths& lengths);

}  // namespace rapt::ops

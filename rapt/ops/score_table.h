// Between the scores of single heads and the table of all (docs/math/score_table.md).
#pragma once
#include <vector>

#include "rapt/ops/heads.h"

namespace rapt::ops {

// q of one sentence and head: [rows of the sentence, x.dim].
Var head_rows(Context& ctx, const Heads& x, size_t sequence, size_t head);

// The table of scores (heads.h) from those of each sentence and head, sentence after sentence:
// parts[s * heads + h] is [queries[s].size, keys[s].size], else InvalidArgument.
Var score_table(Context& ctx, const std::vector<Var>& parts, size_t heads, const Lengths& queries,
                const Lengths& keys);

// table + bias. bias: [rows, columns], [heads, rows, columns] or [sequences, heads, rows, columns] by
// absolute positions of query and key, as attention() takes it.
Var add_bias(Context& ctx, const Var& table, const Var& bias, size_t heads, const Lengths& queries,
             const Lengths& keys);

}  // namespace rapt::ops

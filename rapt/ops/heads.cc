#include "rapt/ops/heads.h"

#include <algorithm>

namespace rapt::ops {

Tensor make_table(Context& ctx, size_t heads, const Lengths& queries, const Lengths& keys) {
  const Tensor table = ctx.empty({heads, queries.rows(), keys.longest()});
  for (size_t h = 0; h < heads; ++h) {
    for (size_t s = 0; s < queries.sequences(); ++s) {
      for (size_t r = queries.offset(s); r < queries.offset(s + 1); ++r) {
        const std::span<float> row = table.matrix().row(h * queries.rows() + r);
        std::ranges::fill(row.subspan(keys[s].size), 0.0f);  // so that no search for NaN finds one
      }
    }
  }
  return table;
}

}  // namespace rapt::ops

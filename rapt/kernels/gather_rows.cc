#include "rapt/kernels/gather_rows.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rapt/kernels/gather_rows.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "rapt/kernels/dropout-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rapt::kernels::HWY_NAMESPACE {

// The rows of the table whose index is `part` modulo `parts`.
void ScatterAddRows(MatrixView<const float> dy, std::span<const int32_t> index, float scale,
                    const RowDropout& dropout, MatrixView<float> table, size_t part, size_t parts,
                    float* scratch) {
  const Vec factor = hn::Set(F32(), scale);
  const auto mine = [&](size_t r) { return static_cast<size_t>(index[r]) % parts == part; };
  const auto add = [&](Vec g, Vec m, Vec sum)
                       HWY_ATTR { return hn::MulAdd(hn::Mul(g, m), factor, sum); };
  for_rows(dropout, 0, index.size(), dy.cols(), scratch, mine,
           [&](size_t r, const auto& factors) HWY_ATTR {
             const std::span<float> to = table.row(static_cast<size_t>(index[r]));
             map(add, to, dy.row(r), factors, to);
           });
}

}  // namespace rapt::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rapt::kernels {

HWY_EXPORT(ScatterAddRows);

void gather_rows(MatrixView<const float> table, std::span<const int32_t> index, MatrixView<float> y,
                 Pool& pool) {
  pool.row_blocks(index.size(), kRowBlock, [&](size_t begin, size_t end) {
    for (size_t r = begin; r < end; ++r) {
      std::ranges::copy(table.row(static_cast<size_t>(index[r])), y.row(r).begin());
    }
  });
}

void scatter_add_rows(MatrixView<const float> dy, std::span<const int32_t> index, float scale,
                      const RowDropout& dropout, MatrixView<float> table, Pool& pool) {
  // Each task looks at all indices, which is cheap, and keeps to the rows of its own remainder.
  const size_t parts = std::min<size_t>(16, row_block_count(index.size()));
  pool.run(parts, dropout_scratch(dy.cols()), [&](size_t part, float* scratch) {
    HWY_DYNAMIC_DISPATCH(ScatterAddRows)
    (dy, index, scale, dropout, table, part, parts, scratch);
  });
}

}  // namespace rapt::kernels
#endif  // HWY_ONCE

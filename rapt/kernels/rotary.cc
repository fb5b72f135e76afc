#include "rapt/kernels/rotary.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rapt/kernels/rotary.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "rapt/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rapt::kernels::HWY_NAMESPACE {

// Rows [begin, end).
void RotaryRows(const Rotary& r, MatrixView<const float> x, const Lengths& rows, RotaryTurn turn,
                MatrixView<float> y, size_t begin, size_t end) {
  const size_t dim = r.table.cols() / 2, half = dim / 2, turned = r.heads * dim;
  const Vec sign = hn::Set(F32(), turn == RotaryTurn::kForward ? 1.0f : -1.0f);
  const auto mix = [&](Vec v, Vec partner, Vec c, Vec s)
                       HWY_ATTR { return hn::MulAdd(v, c, hn::Mul(partner, hn::Mul(s, sign))); };
  const auto mix_neighbours = [&](Vec v, Vec c, Vec s)
                                  HWY_ATTR { return mix(v, hn::Reverse2(F32(), v), c, s); };
  rows.for_each_key(begin, end, [&](size_t row, RowKey key) HWY_ATTR {
    const std::span<const float> from = x.row(row), cs = r.table.row(key.position);
    const std::span<float> to = y.row(row);
    const std::span<const float> c = cs.first(dim), s = cs.last(dim);
    for (size_t h = 0; h < turned; h += dim) {
      if (r.pairs == RotaryPairs::kNeighbours) {
        map(mix_neighbours, to.subspan(h, dim), from.subspan(h, dim), c, s);
      } else {
        const auto a = from.subspan(h, half), b = from.subspan(h + half, half);
        map(mix, to.subspan(h, half), a, b, c.first(half), s.first(half));
        map(mix, to.subspan(h + half, half), b, a, c.last(half), s.last(half));
      }
    }
    std::ranges::copy(from.subspan(turned), to.data() + turned);
  });
}

}  // namespace rapt::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rapt::kernels {

HWY_EXPORT(RotaryRows);

void rotary(const Rotary& r, MatrixView<const float> x, const Lengths& rows, RotaryTurn turn,
            MatrixView<float> y, Pool& pool) {
  pool.row_blocks(x.rows(), kRowBlock, [&](size_t begin, size_t end) {
    HWY_DYNAMIC_DISPATCH(RotaryRows)(r, x, rows, turn, y, begin, end);
  });
}

}  // namespace rapt::kernels
#endif  // HWY_ONCE

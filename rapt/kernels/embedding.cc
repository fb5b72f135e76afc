#include "rapt/kernels/embedding.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rapt/kernels/embedding.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "rapt/kernels/dropout-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rapt::kernels::HWY_NAMESPACE {

void EmbeddingRows(const Embedding& e, const RowDropout& dropout, MatrixView<float> y, size_t begin,
                   size_t end, float* scratch) {
  const Vec scale = hn::Set(F32(), e.scale);
  const auto sum = [&](Vec v, Vec p, Vec m)
                       HWY_ATTR { return hn::Mul(hn::MulAdd(v, scale, p), m); };
  for_each_row(dropout, begin, end, y.cols(), scratch, [&](size_t r, const auto& factors) HWY_ATTR {
    const std::span<const float> from = e.table.row(static_cast<size_t>(e.ids[r]));
    if (e.position.empty()) {
      map(sum, y.row(r), from, Constant{0.0f}, factors);
    } else {
      const auto p = static_cast<size_t>(e.position[r]);
      map(sum, y.row(r), from, e.positions.row(p), factors);
    }
  });
}

}  // namespace rapt::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rapt::kernels {

HWY_EXPORT(EmbeddingRows);

void embedding(const Embedding& e, const RowDropout& dropout, MatrixView<float> y, Pool& pool) {
  dropout_blocks(y.rows(), y.cols(), pool, [&](size_t begin, size_t end, float* scratch) {
    HWY_DYNAMIC_DISPATCH(EmbeddingRows)(e, dropout, y, begin, end, scratch);
  });
}

}  // namespace rapt::kernels
#endif  // HWY_ONCE

#include "rapt/kernels/dropout.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rapt/kernels/dropout.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "rapt/kernels/dropout-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rapt::kernels::HWY_NAMESPACE {

void Dropout(MatrixView<const float> x, const RowDropout& dropout, MatrixView<float> y,
             size_t begin, size_t end, float* scratch) {
  for_each_row(dropout, begin, end, x.cols(), scratch, [&](size_t r, const auto& factors) HWY_ATTR {
    map([](Vec v, Vec m) HWY_ATTR { return hn::Mul(v, m); }, y.row(r), x.row(r), factors);
  });
}

void AddDropout(MatrixView<const float> x, MatrixView<const float> sub, const RowDropout& dropout,
                MatrixView<float> s, size_t begin, size_t end, float* scratch) {
  for_each_row(dropout, begin, end, x.cols(), scratch, [&](size_t r, const auto& factors) HWY_ATTR {
    const auto add = [](Vec a, Vec b, Vec m) HWY_ATTR { return hn::MulAdd(b, m, a); };
    map(add, s.row(r), x.row(r), sub.row(r), factors);
  });
}

}  // namespace rapt::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rapt::kernels {

HWY_EXPORT(Dropout);
HWY_EXPORT(AddDropout);

void dropout(MatrixView<const float> x, const RowDropout& dropout, MatrixView<float> y,
             Pool& pool) {
  dropout_blocks(x.rows(), x.cols(), pool, [&](size_t begin, size_t end, float* scratch) {
    HWY_DYNAMIC_DISPATCH(Dropout)(x, dropout, y, begin, end, scratch);
  });
}

void add_dropout(MatrixView<const float> x, MatrixView<const float> sub, const RowDropout& dropout,
                 MatrixView<float> s, Pool& pool) {
  dropout_blocks(x.rows(), x.cols(), pool, [&](size_t begin, size_t end, float* scratch) {
    HWY_DYNAMIC_DISPATCH(AddDropout)(x, sub, dropout, s, begin, end, scratch);
  });
}

}  // namespace rapt::kernels
#endif  // HWY_ONCE

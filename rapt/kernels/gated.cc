#include "rapt/kernels/gated.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rapt/kernels/gated.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "rapt/kernels/activation-inl.h"
#include "rapt/kernels/dropout-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rapt::kernels::HWY_NAMESPACE {

void Gated(Activation activation, MatrixView<const float> a, MatrixView<const float> b,
           const RowDropout& dropout, MatrixView<float> y, size_t begin, size_t end,
           float* scratch) {
  with_activation(activation, [&]<Activation kActivation>() HWY_ATTR {
    const auto f = [](Vec gate, Vec v, Vec m)
                       HWY_ATTR { return hn::Mul(hn::Mul(activate<kActivation>(gate), v), m); };
    for_each_row(dropout, begin, end, a.cols(), scratch,
                 [&](size_t r, const auto& factors)
                     HWY_ATTR { map(f, y.row(r), a.row(r), b.row(r), factors); });
  });
}

void GatedBackward(Activation activation, MatrixView<const float> a, MatrixView<const float> b,
                   MatrixView<const float> dy, const RowDropout& dropout, MatrixView<float> da,
                   MatrixView<float> db, size_t begin, size_t end, float* scratch) {
  with_activation(activation, [&]<Activation kActivation>() HWY_ATTR {
    const auto f = [](Vec gate, Vec v, Vec g, Vec m) HWY_ATTR {
      const Vec kept = hn::Mul(g, m);
      return std::array{activate_backward<kActivation>(gate, hn::Mul(kept, v)),
                        hn::Mul(kept, activate<kActivation>(gate))};
    };
    for_each_row(dropout, begin, end, a.cols(), scratch,
                 [&](size_t r, const auto& factors) HWY_ATTR {
                   const std::array outputs{da.row(r), db.row(r)};
                   map(f, outputs, a.row(r), b.row(r), dy.row(r), factors);
                 });
  });
}

}  // namespace rapt::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rapt::kernels {

HWY_EXPORT(Gated);
HWY_EXPORT(GatedBackward);

void gated(Activation activation, MatrixView<const float> a, MatrixView<const float> b,
           const RowDropout& dropout, MatrixView<float> y, Pool& pool) {
  dropout_blocks(a.rows(), a.cols(), pool, [&](size_t begin, size_t end, float* scratch) {
    HWY_DYNAMIC_DISPATCH(Gated)(activation, a, b, dropout, y, begin, end, scratch);
  });
}

void gated_backward(Activation activation, MatrixView<const float> a, MatrixView<const float> b,
                    MatrixView<const float> dy, const RowDropout& dropout, MatrixView<float> da,
                    MatrixView<float> db, Pool& pool) {
  dropout_blocks(a.rows(), a.cols(), pool, [&](size_t begin, size_t end, float* scratch) {
    HWY_DYNAMIC_DISPATCH(GatedBackward)
    (activation, a, b, dy, dropout, da, db, begin, end, scratch);
  });
}

}  // namespace rapt::kernels
#endif  // HWY_ONCE

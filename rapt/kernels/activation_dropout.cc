#include "rapt/kernels/activation_dropout.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rapt/kernels/activation_dropout.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "rapt/kernels/activation-inl.h"
#include "rapt/kernels/dropout-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rapt::kernels::HWY_NAMESPACE {

void ActivationDropout(Activation activation, MatrixView<const float> x, const RowDropout& dropout,
                       MatrixView<float> y, size_t begin, size_t end, float* scratch) {
  with_activation(activation, [&]<Activation kActivation>() HWY_ATTR {
    const auto f = [](Vec v, Vec m) HWY_ATTR { return hn::Mul(activate<kActivation>(v), m); };
    for_each_row(dropout, begin, end, x.cols(), scratch,
                 [&](size_t r, const auto& factors)
                     HWY_ATTR { map(f, y.row(r), x.row(r), factors); });
  });
}

void ActivationDropoutBackward(Activation activation, MatrixView<const float> saved,
                               MatrixView<const float> dy, const RowDropout& dropout,
                               MatrixView<float> dx, size_t begin, size_t end, float* scratch) {
  with_activation(activation, [&]<Activation kActivation>() HWY_ATTR {
    const auto f = [](Vec s, Vec g, Vec m)
                       HWY_ATTR { return activate_backward<kActivation>(s, hn::Mul(g, m)); };
    if constexpr (saved_for(kActivation) == Saved::kOutput) {  // 0 where dropped: no draws needed
      const Constant factors{dropout.on() ? dropout.rate.scale() : 1.0f};
      for (size_t r = begin; r < end; ++r) map(f, dx.row(r), saved.row(r), dy.row(r), factors);
    } else {
      // kNone reads no input: its place is taken by dy.
      const auto& input = kActivation == Activation::kNone ? dy : saved;
      for_each_row(dropout, begin, end, dy.cols(), scratch,
                   [&](size_t r, const auto& factors)
                       HWY_ATTR { map(f, dx.row(r), input.row(r), dy.row(r), factors); });
    }
  });
}

}  // namespace rapt::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rapt::kernels {

HWY_EXPORT(ActivationDropout);
HWY_EXPORT(ActivationDropoutBackward);

void activation_dropout(Activation activation, MatrixView<const float> x, const RowDropout& dropout,
                        MatrixView<float> y, Pool& pool) {
  dropout_blocks(x.rows(), x.cols(), pool, [&](size_t begin, size_t end, float* scratch) {
    HWY_DYNAMIC_DISPATCH(ActivationDropout)(activation, x, dropout, y, begin, end, scratch);
  });
}

void activation_dropout_backward(Activation activation, MatrixView<const float> saved,
                                 MatrixView<const float> dy, const RowDropout& dropout,
                                 MatrixView<float> dx, Pool& pool) {
  dropout_blocks(dy.rows(), dy.cols(), pool, [&](size_t begin, size_t end, float* scratch) {
    HWY_DYNAMIC_DISPATCH(ActivationDropoutBackward)
    (activation, saved, dy, dropout, dx, begin, end, scratch);
  });
}

}  // namespace rapt::kernels
#endif  // HWY_ONCE

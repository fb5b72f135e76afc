#include "rapt/kernels/activation.h"

#include <algorithm>
#include <cassert>

#include "rapt/kernels/partials.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rapt/kernels/activation.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "rapt/kernels/activation-inl.h"
#include "rapt/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rapt::kernels::HWY_NAMESPACE {

// One block of rows; `partial` is its row, or empty.
void ActivationBackward(Activation activation, MatrixView<const float> saved,
                        MatrixView<const float> dy, MatrixView<float> dx,
                        std::span<float> partial) {
  const auto add = [](Vec sum, Vec v) HWY_ATTR { return hn::Add(sum, v); };
  with_activation(activation, [&]<Activation kActivation>() HWY_ATTR {
    const auto scale = [](Vec s, Vec g) HWY_ATTR { return activate_backward<kActivation>(s, g); };
    for (size_t r = 0; r < dy.rows(); ++r) {
      const std::span<const float> g = dy.row(r);
      if constexpr (kActivation != Activation::kNone) {
        map(scale, dx.row(r), std::span<const float>(saved.row(r)), g);
      }
      if (partial.empty()) continue;
      const std::span<const float> sum = partial, values = kActivation == Activation::kNone
                                                               ? g
                                                               : std::span<const float>(dx.row(r));
      map(add, partial, sum, values);
    }
  });
}

}  // namespace rapt::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rapt::kernels {
HWY_EXPORT(ActivationBackward);

void activation_backward(Activation activation, MatrixView<const float> saved,
                         MatrixView<const float> dy, MatrixView<float> dx,
                         MatrixView<float> partial, std::span<float> dbias, Pool& pool) {
  const bool bias = !dbias.empty(), map = activation != Activation::kNone;
  assert(!bias || (dbias.size() == dy.cols() && partial.rows() == row_block_count(dy.rows())));
  if (!map && !bias) return;
  const auto backward = HWY_DYNAMIC_DISPATCH(ActivationBackward);
  pool.row_blocks(dy.rows(), kRowBlock, [&](size_t begin, size_t end) {
    const std::span<float> sum = bias ? partial.row(begin / kRowBlock) : std::span<float>();
    std::ranges::fill(sum, 0.0f);
    const auto slice = [&](auto view) { return map ? view.slice_rows(begin, end) : view; };
    backward(activation, slice(saved), dy.slice_rows(begin, end), slice(dx), sum);
  });
  if (bias) add_partials(partial, dbias, pool);
}

}  // namespace rapt::kernels
#endif  // HWY_ONCE

#include "rapt/kernels/mixture_of_experts.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rapt/kernels/mixture_of_experts.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "rapt/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rapt::kernels::HWY_NAMESPACE {

void Combine(std::span<float* const> x, MatrixView<const float> weights, MatrixView<float> y,
             size_t begin, size_t end) {
  const size_t k = weights.cols();
  for (size_t r = begin; r < end; ++r) {
    const std::span<float> sum = y.row(r);
    for (size_t i = 0; i < k; ++i) {
      const std::span<const float> row(x[r * k + i], y.cols());
      const Vec w = hn::Set(F32(), weights.row(r)[i]);
      if (i == 0) {
        map([&](Vec v) HWY_ATTR { return hn::Mul(w, v); }, sum, row);
      } else {
        map([&](Vec v, Vec s) HWY_ATTR { return hn::MulAdd(w, v, s); }, sum, row, sum);
      }
    }
  }
}

void CombineBackward(std::span<float* const> x, MatrixView<const float> weights,
                     MatrixView<const float> dy, std::span<float* const> dx,
                     MatrixView<float> dweights, size_t begin, size_t end) {
  const size_t k = weights.cols();
  const auto product = [](Vec a, Vec b) HWY_ATTR { return hn::Mul(a, b); };
  for (size_t r = begin; r < end; ++r) {
    const std::span<const float> g = dy.row(r);
    for (size_t i = 0; i < k; ++i) {
      const std::span<const float> row(x[r * k + i], g.size());
      dweights.row(r)[i] = sum_of(product, row, g);
      const Vec w = hn::Set(F32(), weights.row(r)[i]);
      map([&](Vec v) HWY_ATTR { return hn::Mul(w, v); }, std::span<float>(dx[r * k + i], g.size()),
          g);
    }
  }
}

}  // namespace rapt::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rapt::kernels {
namespace {

// `index` holds those taken so far, best first; equal values stay in order of columns.
void take_largest(std::span<const float> x, std::span<int32_t> index) {
  const auto better = [](float a, float b) { return std::isnan(a) ? !std::isnan(b) : a > b; };
  size_t taken = 0;
  for (size_t c = 0; c < x.size(); ++c) {
    size_t at = taken;
    while (at > 0 && better(x[c], x[static_cast<size_t>(index[at - 1])])) --at;
    if (at == index.size()) continue;
    taken = std::min(taken + 1, index.size());
    const auto slot = index.begin() + static_cast<ptrdiff_t>(at);
    std::shift_right(slot, index.begin() + static_cast<ptrdiff_t>(taken), 1);
    *slot = static_cast<int32_t>(c);
  }
  std::ranges::sort(index);
}

}  // namespace

HWY_EXPORT(Combine);
HWY_EXPORT(CombineBackward);

void top_k(MatrixView<const float> x, MatrixView<float> values, std::span<int32_t> index,
           Pool& pool) {
  const size_t k = values.cols();
  pool.row_blocks(x.rows(), kRowBlock, [&](size_t begin, size_t end) {
    for (size_t r = begin; r < end; ++r) {
      const std::span<int32_t> taken = index.subspan(r * k, k);
      take_largest(x.row(r), taken);
      for (size_t i = 0; i < k; ++i) values.row(r)[i] = x.row(r)[static_cast<size_t>(taken[i])];
    }
  });
}

void top_k_backward(MatrixView<const float> dy, std::span<const int32_t> index,
                    MatrixView<float> dx, Pool& pool) {
  const size_t k = dy.cols();
  pool.row_blocks(dx.rows(), kRowBlock, [&](size_t begin, size_t end) {
    for (size_t r = begin; r < end; ++r) {
      std::ranges::fill(dx.row(r), 0.0f);
      for (size_t i = 0; i < k; ++i) {
        dx.row(r)[static_cast<size_t>(index[r * k + i])] = dy.row(r)[i];
      }
    }
  });
}

void combine(std::span<float* const> x, MatrixView<const float> weights, MatrixView<float> y,
             Pool& pool) {
  pool.row_blocks(y.rows(), kRowBlock, [&](size_t begin, size_t end) {
    HWY_DYNAMIC_DISPATCH(Combine)(x, weights, y, begin, end);
  });
}

void combine_backward(std::span<float* const> x, MatrixView<const float> weights,
                      MatrixView<const float> dy, std::span<float* const> dx,
                      MatrixView<float> dweights, Pool& pool) {
  pool.row_blocks(dy.rows(), kRowBlock, [&](size_t begin, size_t end) {
    HWY_DYNAMIC_DISPATCH(CombineBackward)(x, weights, dy, dx, dweights, begin, end);
  });
}

float expert_balance(MatrixView<const float> p, std::span<const float> load,
                     MatrixView<float> partial, Pool& pool) {
  pool.row_blocks(p.rows(), kRowBlock, [&](size_t begin, size_t end) {
    const std::span<float> sum = partial.row(begin / kRowBlock);
    std::ranges::fill(sum, 0.0f);
    for (size_t r = begin; r < end; ++r) {
      for (size_t c = 0; c < sum.size(); ++c) sum[c] += p.row(r)[c];
    }
  });
  double total = 0;
  for (size_t c = 0; c < load.size(); ++c) {
    double sum = 0;
    for (size_t b = 0; b < partial.rows(); ++b) sum += static_cast<double>(partial.row(b)[c]);
    total += static_cast<double>(load[c]) * sum;
  }
  return static_cast<float>(static_cast<double>(load.size()) * total /
                            static_cast<double>(p.rows()));
}

void expert_balance_backward(std::span<const float> load, float dy, MatrixView<float> dp,
                             Pool& pool) {
  const double scale =
      static_cast<double>(dy) * static_cast<double>(load.size()) / static_cast<double>(dp.rows());
  pool.row_blocks(dp.rows(), kRowBlock, [&](size_t begin, size_t end) {
    for (size_t r = begin; r < end; ++r) {
      for (size_t c = 0; c < load.size(); ++c) {
        dp.row(r)[c] = static_cast<float>(scale * static_cast<double>(load[c]));
      }
    }
  });
}

}  // namespace rapt::kernels
#endif  // HWY_ONCE

#include "rapt/kernels/softmax.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rapt/kernels/softmax.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "rapt/kernels/simd-inl.h"
#include "rapt/kernels/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rapt::kernels::HWY_NAMESPACE {

// What is subtracted before the exponential: the maximum, or 0 if everything is masked. A NaN that
// the maximum does not see is in the sum.
HWY_INLINE float shift_of(std::span<const float> x) {
  const float max = maximum(x);
  return max == -std::numeric_limits<float>::infinity() ? 0.0f : max;
}

HWY_INLINE LogNormalizer log_normalizer(std::span<const float> x, float shift) {
  const Vec max = hn::Set(F32(), shift);
  const float total = sum_of([&](Vec v) HWY_ATTR { return exp_nonpositive(hn::Sub(v, max)); }, x);
  return {shift, total == 0 ? 0.0f : hn::GetLane(log(hn::Set(F32(), total)))};
}

void Softmax(MatrixView<const float> x, MatrixView<float> y) {
  for (size_t r = 0; r < x.rows(); ++r) {
    const Vec shift = hn::Set(F32(), shift_of(x.row(r)));
    const auto power = [&](Vec v) HWY_ATTR { return exp_nonpositive(hn::Sub(v, shift)); };
    const float total = map_sum(power, y.row(r), x.row(r));
    const Vec scale = hn::Set(F32(), total == 0 ? 0.0f : 1.0f / total);
    map([&](Vec v) HWY_ATTR { return hn::Mul(v, scale); }, y.row(r), y.row(r));
  }
}

void SoftmaxBackward(MatrixView<const float> y, MatrixView<const float> dy, MatrixView<float> dx) {
  for (size_t r = 0; r < y.rows(); ++r) {
    const auto product = [](Vec a, Vec b) HWY_ATTR { return hn::Mul(a, b); };
    const Vec total = hn::Set(F32(), sum_of(product, y.row(r), dy.row(r)));
    const auto f = [&](Vec v, Vec g) HWY_ATTR { return hn::Mul(v, hn::Sub(g, total)); };
    map(f, dx.row(r), y.row(r), dy.row(r));
  }
}

void LogSoftmax(MatrixView<const float> x, MatrixView<float> y) {
  for (size_t r = 0; r < x.rows(); ++r) {
    const LogNormalizer n = log_normalizer(x.row(r), shift_of(x.row(r)));
    const Vec shift = hn::Set(F32(), n.max), log_total = hn::Set(F32(), n.log_total);
    const auto f = [&](Vec v) HWY_ATTR { return hn::Sub(hn::Sub(v, shift), log_total); };
    map(f, y.row(r), x.row(r));
  }
}

void LogNormalizers(MatrixView<const float> x, std::span<LogNormalizer> of_row,
                    MatrixView<float> block_maxima) {
  for (size_t r = 0; r < x.rows(); ++r) {
    const std::span<const float> row = x.row(r);
    const std::span<float> maxima = block_maxima.row(r);
    for (size_t b = 0; b < maxima.size(); ++b) {
      const size_t first = b * kMaximumBlock;
      maxima[b] = maximum(row.subspan(first, std::min(kMaximumBlock, row.size() - first)));
    }
    of_row[r] = log_normalizer(row, shift_of(maxima));
  }
}

void LogSoftmaxBackward(MatrixView<const float> y, MatrixView<const float> dy,
                        MatrixView<float> dx) {
  for (size_t r = 0; r < y.rows(); ++r) {
    const Vec total = hn::Set(F32(), sum(dy.row(r)));
    const auto f = [&](Vec v, Vec g)
                       HWY_ATTR { return hn::NegMulAdd(exp_nonpositive(v), total, g); };
    map(f, dx.row(r), y.row(r), dy.row(r));
  }
}

}  // namespace rapt::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rapt::kernels {
namespace {

// Few long rows are as much work as many short ones; no bits depend on the block.
size_t block_of(size_t cols) {
  return std::clamp<size_t>((size_t{1} << 15) / std::max<size_t>(cols, 1), 1, kRowBlock);
}

}  // namespace

HWY_EXPORT(Softmax);
HWY_EXPORT(SoftmaxBackward);
HWY_EXPORT(LogSoftmax);
HWY_EXPORT(LogNormalizers);
HWY_EXPORT(LogSoftmaxBackward);

void softmax(MatrixView<const float> x, MatrixView<float> y, Pool& pool) {
  pool.row_blocks(x.rows(), block_of(x.cols()), [&](size_t begin, size_t end) {
    HWY_DYNAMIC_DISPATCH(Softmax)(x.slice_rows(begin, end), y.slice_rows(begin, end));
  });
}

void softmax_backward(MatrixView<const float> y, MatrixView<const float> dy, MatrixView<float> dx,
                      Pool& pool) {
  pool.row_blocks(y.rows(), block_of(y.cols()), [&](size_t begin, size_t end) {
    HWY_DYNAMIC_DISPATCH(SoftmaxBackward)
    (y.slice_rows(begin, end), dy.slice_rows(begin, end), dx.slice_rows(begin, end));
  });
}

void log_softmax(MatrixView<const float> x, MatrixView<float> y, Pool& pool) {
  pool.row_blocks(x.rows(), block_of(x.cols()), [&](size_t begin, size_t end) {
    HWY_DYNAMIC_DISPATCH(LogSoftmax)(x.slice_rows(begin, end), y.slice_rows(begin, end));
  });
}

void log_normalizers(MatrixView<const float> x, std::span<LogNormalizer> of_row,
                     MatrixView<float> block_maxima, Pool& pool) {
  pool.row_blocks(x.rows(), block_of(x.cols()), [&](size_t begin, size_t end) {
    HWY_DYNAMIC_DISPATCH(LogNormalizers)
    (x.slice_rows(begin, end), of_row.subspan(begin, end - begin),
     block_maxima.slice_rows(begin, end));
  });
}

void log_softmax_backward(MatrixView<const float> y, MatrixView<const float> dy,
                          MatrixView<float> dx, Pool& pool) {
  pool.row_blocks(y.rows(), block_of(y.cols()), [&](size_t begin, size_t end) {
    HWY_DYNAMIC_DISPATCH(LogSoftmaxBackward)
    (y.slice_rows(begin, end), dy.slice_rows(begin, end), dx.slice_rows(begin, end));
  });
}

}  // namespace rapt::kernels
#endif  // HWY_ONCE

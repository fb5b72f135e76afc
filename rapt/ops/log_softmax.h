// Logarithm of the softmax of each row: y = x - log(sum(e^x))   (docs/math/log_softmax.md).
// A row that is -infinity throughout stays so. Decoding and scoring share these bits.
#pragma once
#include "rapt/autograd/context.h"
#include "rapt/kernels/softmax.h"

namespace rapt::ops {

Var log_softmax(Context& ctx, const Var& x);

// The same numbers for inference, each computed when it is read: of a vocabulary most never are, and
// there is no second array as large as x.
class LogProbabilities {
 public:
  static constexpr size_t kBlock = kernels::kMaximumBlock;

  LogProbabilities(Context& ctx, const Tensor& x);

  class Row {
   public:
    Row(std::span<const float> x, std::span<const float> block_maxima, kernels::LogNormalizer n)
        : x_(x), block_maxima_(block_maxima), normalizer_(n) {}
    size_t size() const { return x_.size(); }
    float operator[](size_t i) const { return normalizer_(x_[i]); }
    // Block b is the elements from b * kBlock on. The largest of it that is a number.
    size_t blocks() const { return block_maxima_.size(); }
    float maximum(size_t b) const { return normalizer_(block_maxima_[b]); }

   private:
    std::span<const float> x_, block_maxima_;
    kernels::LogNormalizer normalizer_;
  };
  Row row(size_t r) const {
    return {x_.matrix().row(r), block_maxima_.matrix().row(r), of_row_[r]};
  }

 private:
  Tensor x_, block_maxima_;
  Buffer<kernels::LogNormalizer> of_row_;
};

}  // namespace rapt::ops

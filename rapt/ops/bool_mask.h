// Masks by hand: one bool for each query and key. Libraries disagree on what true means (in PyTorch
// it keeps in scaled_dot_product_attention and drops in nn.MultiheadAttention), so the type says it:
//   KeepMask   true: the query sees the key
//   DropMask   true: the query does not see the key
// Neither is taken for the other; ~ gives the same mask in the other reading.
//   const Var bias(KeepMask(2, 3, {true, false, true, true, true, false}).bias());
//   attention(ctx, q, k, v, queries, keys, args, &bias);
// Rules by positions (causal, windows) are bands, which cost nothing: rapt/ops/mask.h. Lengths of
// keys are Lengths.
#pragma once
#include <limits>
#include <utility>
#include <vector>

#include "rapt/base/check.h"
#include "rapt/ops/mask.h"
#include "rapt/tensor/tensor.h"

namespace rapt::ops {

enum class MaskTrue { kKeeps, kDrops };

template <MaskTrue meaning>
class BoolMask {
 public:
  using Other = BoolMask<meaning == MaskTrue::kKeeps ? MaskTrue::kDrops : MaskTrue::kKeeps>;

  // Row by row: the keys of query 0, then those of query 1, …
  BoolMask(size_t queries, size_t keys, std::vector<bool> values)
      : queries_(queries), keys_(keys), values_(std::move(values)) {
    check(values_.size() == queries * keys, "mask: ", values_.size(), " values for ", queries,
          " queries and ", keys, " keys, expected ", queries * keys);
  }

  size_t queries() const { return queries_; }
  size_t keys() const { return keys_; }
  bool operator()(size_t query, size_t key) const { return values_[query * keys_ + key]; }
  bool keeps(size_t query, size_t key) const {
    return (*this)(query, key) == (meaning == MaskTrue::kKeeps);
  }

  Other operator~() const {
    std::vector<bool> values = values_;
    values.flip();
    return Other(queries_, keys_, std::move(values));
  }

  // What attention() adds to the scores: 0, or minus infinity where the key is not seen.
  Tensor bias() const {
    const Tensor bias = Tensor::zeros({queries_, keys_});
    for (size_t i = 0; i < queries_; ++i) {
      for (size_t j = 0; j < keys_; ++j) {
        if (!keeps(i, j)) bias.matrix().row(i)[j] = -std::numeric_limits<float>::infinity();
      }
    }
    return bias;
  }

 private:
  size_t queries_, keys_;
  std::vector<bool> values_;
};

using KeepMask = BoolMask<MaskTrue::kKeeps>;
using DropMask = BoolMask<MaskTrue::kDrops>;

// What a band shows, as a matrix.
inline KeepMask keep_mask(const Band& band, uint32_t queries, uint32_t keys) {
  const kernels::AttentionBand visible = band.between(queries, keys);
  std::vector<bool> values;
  for (int64_t i = 0; i < queries; ++i) {
    for (int64_t j = 0; j < keys; ++j) {
      values.push_back(visible.first <= j - i && j - i <= visible.last);
    }
  }
  return KeepMask(queries, keys, std::move(values));
}

}  // namespace rapt::ops

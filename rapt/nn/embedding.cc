#include "rapt/nn/embedding.h"

namespace rapt::nn {

Var Embedding::operator()(Context& ctx, std::span<const int32_t> ids,
                          const Lengths& sentences) const {
  size_t positions = 0;
  for (size_t s = 0; s < sentences.sequences(); ++s) {
    positions = std::max<size_t>(positions, size_t{sentences[s].past} + sentences[s].size);
  }
  const Var table = positions_(ctx, positions);
  return ops::embedding(ctx, table_, ids, scale_, positions_.none() ? nullptr : &table, dropout_,
                        sentences);
}

}  // namespace rapt::nn

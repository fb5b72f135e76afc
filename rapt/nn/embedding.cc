#include "rapt/nn/embedding.h"

namespace rapt::nn {

Var Embedding::operator()(Context& ctx, std::span<const int32_t> ids,
                          const Lengths& sentences) const {
  const Var table = positions_(ctx, position_end(sentences));
  return ops::embedding(ctx, table_, ids, scale_, positions_.none() ? nullptr : &table, dropout_,
                        sentences);
}

}  // namespace rapt::nn

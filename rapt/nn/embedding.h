// Tokens to rows of the model (Vaswani et al., 2017, sections 3.4 and 3.5):
//   x = dropout(scale * E[id] + P[position])        scale = sqrt(d_model), or 1
// P is sinusoidal, learned, or nothing.
#pragma once
#include "rapt/nn/module.h"
#include "rapt/nn/positions.h"
#include "rapt/ops/dropout.h"
#include "rapt/ops/embedding.h"

namespace rapt::nn {

class Embedding : public Module {
 public:
  // `table` is the scope's own, or another's that it is tied to. Dropout "dropout".
  Embedding(const Scope& scope, const Weight& table, PositionTable positions, float scale,
            double dropout)
      : Module(scope, "Embedding"),
        table_(table),
        positions_(std::move(positions)),
        scale_(scale),
        dropout_(scope.dropout("dropout", dropout)) {}

  // One id a row of `sentences`.
  Var operator()(Context& ctx, std::span<const int32_t> ids, const Lengths& sentences) const;

 private:
  const Weight& table_;
  PositionTable positions_;
  float scale_;
  Dropout dropout_;
};

}  // namespace rapt::nn

// What tells a model the order of its tokens, added to their embeddings.
//   interleaved  P(t, 2i) = sin(t / 10000^(2i / d)), P(t, 2i + 1) = cos(the same)
//                Vaswani et al., 2017, section 3.5
//   halves       P(t, i) = sin(t / 10000^(i / (d / 2 - 1))), P(t, d / 2 + i) = cos(the same)
//                tensor2tensor, fairseq, Marian
// The angles and their sines are computed in double, with the same bits on every machine.
#pragma once
#include <memory>

#include "rapt/autograd/context.h"
#include "rapt/nn/scope.h"

namespace rapt {

enum class Positions { kSinusoidal, kLearned, kNone };
enum class PositionLayout {
  kInterleaved,  // sin and cos in turn, as in the paper
  kHalves,       // first all sin, then all cos, as in fairseq and Marian
};

namespace nn {

// Row t of the sinusoids; an odd last column of `halves` is 0.
void fill_sinusoids(std::span<float> row, size_t t, PositionLayout layout);

class PositionTable {
 public:
  PositionTable() = default;  // none
  static PositionTable sinusoidal(size_t d_model, PositionLayout layout);
  static PositionTable learned(const Weight& table);  // [max_positions, d_model]

  bool none() const { return sinusoids_ == nullptr && learned_ == nullptr; }
  // [at least `positions`, d_model]. Sinusoids are computed when a position is first met, then kept;
  // threads may share the table.
  Var operator()(Context& ctx, size_t positions) const;

 private:
  struct Sinusoids;
  std::shared_ptr<Sinusoids> sinusoids_;
  const Weight* learned_ = nullptr;
};

}  // namespace nn
}  // namespace rapt

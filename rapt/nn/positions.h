// What tells a model the order of its tokens.
//   sinusoidal  added to the embeddings (Vaswani et al., 2017, section 3.5), in one of two layouts:
//     interleaved  P(t, 2i) = sin(t / 10000^(2i / d)), P(t, 2i + 1) = cos(the same): the paper's
//     halves       P(t, i) = sin(t / 10000^(i / (d / 2 - 1))), P(t, d / 2 + i) = cos(the same):
//                  tensor2tensor, fairseq, Marian
//   learned     a parameter in place of the sinusoids
//   rotary      turns queries and keys of self-attention (Su et al., 2021; docs/math/rotary.md);
//               its pairs of columns are neighbours (interleaved, the paper's) or halves (Llama)
//   alibi       takes slope |i - j| off the scores of self-attention (Press et al., 2022)
// Angles and their sines are computed in double, with the same bits on every machine.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "rapt/autograd/context.h"
#include "rapt/base/lengths.h"
#include "rapt/kernels/rotary.h"
#include "rapt/nn/scope.h"

namespace rapt {

enum class Positions { kSinusoidal, kLearned, kRotary, kAlibi, kNone };
enum class PositionLayout {
  kInterleaved,  // sin and cos in turn, as in the paper
  kHalves,       // first all sin, then all cos, as in fairseq and Marian
};

namespace nn {

// The positions that `rows` needs: one more than the largest.
size_t position_end(const Lengths& rows);

// Row t of the sinusoids; an odd last column of `halves` is 0.
void fill_sinusoids(std::span<float> row, size_t t, PositionLayout layout);

// Rows by position, computed when a position is first met, then kept. Threads and copies share them.
class GrowingTable {
 public:
  using Fill = std::function<void(std::span<float> row, size_t t)>;
  GrowingTable() = default;  // none
  GrowingTable(size_t width, Fill fill);

  bool none() const { return rows_ == nullptr; }
  Tensor operator()(size_t positions) const;  // [at least `positions`, width]

 private:
  struct Rows;
  std::shared_ptr<Rows> rows_;
};

// What is added to the embeddings.
class PositionTable {
 public:
  PositionTable() = default;  // none
  static PositionTable sinusoidal(size_t d_model, PositionLayout layout);
  static PositionTable learned(const Weight& table);  // [max_positions, d_model]

  bool none() const { return sinusoids_.none() && learned_ == nullptr; }
  Var operator()(Context& ctx, size_t positions) const;  // [at least `positions`, d_model]

 private:
  GrowingTable sinusoids_;
  const Weight* learned_ = nullptr;
};

// Turns heads of `dim` columns, an even number; pair i by the angle t base^(-2i / dim).
class RotaryPositions {
 public:
  RotaryPositions() = default;  // none
  RotaryPositions(size_t dim, double base, PositionLayout layout);

  bool none() const { return table_.none(); }
  // The first `heads` heads of x turned, its other columns as they are.
  Var operator()(Context& ctx, const Var& x, size_t heads, const Lengths& rows) const;

 private:
  GrowingTable table_;
  kernels::RotaryPairs pairs_ = kernels::RotaryPairs::kNeighbours;
};

// ALiBi's slopes: 2^(-8h / heads) for h = 1 … heads, a power of two. Else those of the power n
// below, and then every second of 2n, from the first: the authors' rule.
std::vector<float> alibi_slopes(size_t heads);

}  // namespace nn
}  // namespace rapt

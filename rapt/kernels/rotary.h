// Rotary positions (Su et al., 2021; docs/math/rotary.md). In each head pairs of columns (a, b) are
// turned by an angle proportional to the position t of the row:
//   a' = a cos(t w) - b sin(t w)      b' = b cos(t w) + a sin(t w)      w: the frequency of the pair
// With a table of C = cos and S = -sin (of a) or sin (of b), both are one formula, and these are
// the bits: y = fma(x, C, partner * S). Backward turns back, for the matrix is orthogonal.
#pragma once
#include <cstddef>

#include "rapt/base/lengths.h"
#include "rapt/base/matrix_view.h"
#include "rapt/parallel/pool.h"

namespace rapt::kernels {

enum class RotaryPairs {
  kNeighbours,  // columns 2i and 2i + 1 of a head, the paper's
  kHalves,      // columns i and i + dim / 2, as in GPT-NeoX and Llama
};
enum class RotaryTurn { kForward, kBack };

struct Rotary {
  MatrixView<const float> table;  // row t: C of a head's columns, then S; 2 dim columns, dim even
  size_t heads = 1;               // the first heads * dim columns are turned, the others copied
  RotaryPairs pairs = RotaryPairs::kNeighbours;
};

// `rows` names the position of each row of x. y must not overlap x.
void rotary(const Rotary& r, MatrixView<const float> x, const Lengths& rows, RotaryTurn turn,
            MatrixView<float> y, Pool& pool);

}  // namespace rapt::kernels

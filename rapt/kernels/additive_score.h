// Additive scores (Bahdanau et al., 2015; docs/math/additive_score.md) of queries a and keys b that
// are projected already, with t = tanh(a_i + b_j) element by element:
//   S_ij = sum(v t)
//   da_i = sum over j of dS_ij v (1 - t^2)     db_j = sum over i of it     dv = sum of dS_ij t
// Each score is one sum over the row's 32 lanes: no bit depends on the other rows. t is computed again
// in the backward pass.
#pragma once
#include <span>

#include "rapt/base/matrix_view.h"
#include "rapt/parallel/pool.h"

namespace rapt::kernels {

struct AdditiveScore {                    // of one head of one sentence
  MatrixView<const float> queries, keys;  // [n, d], [m, d]
  std::span<const float> v;               // d
};
struct AdditiveScoreGrad {
  MatrixView<const float> dscores;    // [n, m]
  MatrixView<float> dqueries, dkeys;  // overwritten
  std::span<float> dv;                // overwritten
};

// scores[i] [n, m] of heads[i].
void additive_score(std::span<const AdditiveScore> heads, std::span<const MatrixView<float>> scores,
                    Pool& pool);

// `group` heads that follow one another read the same keys, and share dkeys: their gradients are
// added in order.
void additive_score_backward(std::span<const AdditiveScore> heads,
                             std::span<const AdditiveScoreGrad> grads, size_t group, Pool& pool);

}  // namespace rapt::kernels

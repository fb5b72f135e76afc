// The same small training with scores q·k / sqrt(d_k) and q·k, from two starts:
//   usual  the projections of nn.MultiheadAttention: Xavier over all rows of in_proj_weight
//   unit   rows for queries and keys from N(0, 1 / d_model), so that the components of q and k have a
//          variance of about 1, as the claims about softmax assume
#pragma once
#include <vector>

#include "rapt/insight/training.h"

namespace rapt::insight {

struct ScoreRun {
  size_t d_k;
  bool unit, scaled;
  // Before the first update: the share of rows of weights with one above 0.99, and the norm of the
  // loss's gradient at the projections of queries and keys.
  double saturated = 0, gradient = 0;
  Curve curve = {};
};

// All four for each d_k.
std::vector<ScoreRun> train_scores(const TrainingOptions& options, size_t layers,
                                   const std::vector<size_t>& d_ks, uint64_t seed, Pool& pool);

}  // namespace rapt::insight

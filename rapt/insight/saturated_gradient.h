// What a softmax passes back, and what reaches the query. Of one query q and its keys k_j
//   s_j = scale q·k_j      p = softmax(s)      J = diag(p) - p p^T
//   dL/ds = J g            g_j standard normal, the gradient at the weights
//   dL/dq = scale sum over j of (dL/ds)_j k_j
// with components of q and k of mean 0 and variance 1. In double: the small numbers are the point.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rapt/parallel/pool.h"

namespace rapt::insight {

struct SoftmaxGradient {
  std::vector<double> p, ds;
  double jacobian = 0;  // Frobenius norm of J
};
// J g with p_i sum over j of p_j (g_i - g_j), and 1 - p_i as the sum of the others, so that nothing
// cancels when one weight is almost 1.
SoftmaxGradient softmax_gradient(std::span<const double> scores, std::span<const double> g);

struct GradientDraws {
  std::vector<double> jacobian, query;  // |J| and |dL/dq| of each draw
};
// Of the same draws, for each scale.
std::vector<GradientDraws> draw_gradients(size_t d_k, size_t keys, size_t draws,
                                          std::span<const double> scales, uint64_t seed,
                                          Pool& pool);

}  // namespace rapt::insight

// One feed-forward network F learns a map H, once as y = F(x) and once as y = x + F(x).
//   identity   H(x) = x + change · G(x)      little has to be learnt beyond the identity
//   mirror     H(x) = -x + change · G(x)     the identity is far from what has to be learnt
// G is a feed-forward network that stays as drawn, with outputs of variance about 1; x is standard
// normal, new in each update. The loss is the mean squared error of a component.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "rapt/parallel/pool.h"

namespace rapt::insight {

struct FitOptions {
  size_t width = 16, steps = 600, batch = 64;
  double change = 0.1, lr = 3e-3;
};

// The loss of each update. sign: 1 the identity, -1 the mirror.
std::vector<double> fit(const FitOptions& options, double sign, bool residual, uint64_t seed,
                        Pool& pool);

}  // namespace rapt::insight

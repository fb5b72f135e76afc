// "If the components of q and k have mean 0 and variance 1, then q·k has mean 0 and variance d_k;
// divided by sqrt(d_k), its variance is 1."
//   E[q·k] = sum E[q_i] E[k_i] = 0
//   Var[q_i k_i] = E[q_i^2] E[k_i^2] = 1, and Cov[q_i k_i, q_j k_j] = E[q_i q_j] E[k_i k_j]
// With uncorrelated components the covariances are 0 and Var[q·k] = d_k. With a correlation r between
// any two components of a vector they are r^2, and Var[q·k] = d_k + d_k (d_k - 1) r^2.
#pragma once
#include "rapt/insight/claim.h"
#include "rapt/insight/draws.h"

namespace rapt::insight {

inline constexpr Claim kVariance = {
    "variance",
    "Components of mean 0 and variance 1 give a dot product of mean 0 and variance d_k; divided by "
    "√d_k its variance is 1.",
    "성분의 평균이 0, 분산이 1이면 내적의 평균은 0, 분산은 d_k이고, √d_k로 나누면 분산이 1이 "
    "된다."};

struct VarianceOptions {
  size_t d_k = 512, longest = 4096, draws = 20000;
  std::string scale = "sqrt";
  Components components = Components::kNormal;
  double correlation = 0;

  static VarianceOptions full() { return {.draws = 50000}; }

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit("d_k", self.d_k, Range{2, 65536}, "components of a vector");
    visit("longest", self.longest, Range{2, 65536}, "d_k = 1, 2, 4, … up to this are compared");
    visit("draws", self.draws, Range{100, 1e7}, "random pairs of a query and a key for each d_k");
    visit("scale", self.scale,
          "what scores are multiplied by: sqrt (1 / sqrt(d_k)), none, a number");
    visit("components", self.components, "how a component is drawn");
    visit("correlation", self.correlation, Range{0, 1}, "of any two components of a vector");
  }
};

Result variance(const VarianceOptions& options, const Setting& setting);

}  // namespace rapt::insight

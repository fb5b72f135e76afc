// "At d_k = 512 unscaled scores make the softmax nearly one-hot; divided by sqrt(d_k), the same
// scores spread over several keys. In saturation the output hardly changes."
// One query meets `keys` random keys. Of the weights p of each draw:
//   entropy H = -sum p ln p, effective keys exp(H), the greatest p, and how far the weights move
//   when the second greatest score rises by 1: half the sum of |p' - p|.
#pragma once
#include "rapt/insight/claim.h"
#include "rapt/insight/draws.h"

namespace rapt::insight {

inline constexpr Claim kSaturation = {"saturation",
                                      "At d_k = 512 unscaled scores make the softmax nearly "
                                      "one-hot; scaled by 1/√d_k they spread over "
                                      "several keys.",
                                      "d_k = 512에서 스케일링하지 않은 점수의 소프트맥스는 거의 "
                                      "원-핫이 되고, √d_k로 나누면 여러 키에 "
                                      "고르게 퍼진다."};

struct SaturationOptions {
  size_t d_k = 512, keys = 10, longest = 4096, draws = 1000;
  std::string scale = "sqrt";
  Components components = Components::kNormal;
  double correlation = 0;

  static SaturationOptions full() { return {.draws = 10000}; }

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit("d_k", self.d_k, Range{1, 65536}, "components of a vector");
    visit("keys", self.keys, Range{2, 1000}, "keys that the query meets");
    visit("longest", self.longest, Range{1, 65536}, "d_k = 1, 2, 4, … up to this are compared");
    visit("draws", self.draws, Range{10, 1e6}, "queries with their keys for each d_k");
    visit("scale", self.scale, "of the scaled scores: sqrt (1 / sqrt(d_k)), none, a number");
    visit("components", self.components, "how a component is drawn");
    visit("correlation", self.correlation, Range{0, 1}, "of any two components of a vector");
  }
};

Result saturation(const SaturationOptions& options, const Setting& setting);

}  // namespace rapt::insight

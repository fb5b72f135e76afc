// "In saturation the gradient is close to 0, and learning is hindered."
//   The softmax of random scores and what it passes back to the query, and the chain to its end: the
//   same training with scores q·k / sqrt(d_k) and q·k.
#pragma once
#include "rapt/insight/claim.h"
#include "rapt/insight/training.h"

namespace rapt::insight {

inline constexpr Claim kVanishing = {
    "vanishing",
    "When the softmax is saturated the gradient is close to 0, and learning is hindered.",
    "소프트맥스가 포화되면 그래디언트가 0에 가까워져 학습이 어려워진다."};

struct VanishingOptions {
  size_t d_k = 512, keys = 10, draws = 1000, layers = 2;
  TrainingOptions training = {.task = Task::kReverse, .length = 10, .steps = 300};

  static VanishingOptions full() {
    VanishingOptions o;
    o.draws = 5000;
    o.training.steps = 1500;
    return o;
  }

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit("d_k", self.d_k, Range{1, 4096}, "components of queries and keys");
    visit("keys", self.keys, Range{2, 1000}, "that a query is compared with");
    visit("draws", self.draws, Range{10, 1e6}, "random queries, each with its keys");
    visit("layers", self.layers, Range{1, 100}, "of the trained models");
    TrainingOptions::fields(self.training, visit);
  }
};

Result vanishing(const VanishingOptions& options, const Setting& setting);

}  // namespace rapt::insight

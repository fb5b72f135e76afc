// "Without residual connections the gradient is a product of small factors and vanishes; with them
// dL/dx = dL/dy · (F'(x) + 1), and the 1 carries it through. The original information is passed on,
// and to learn the change F = H - x is easier."
//   Chains of maps, stacks of rapt's layers as they are drawn, one map fitted in both forms, and
//   trained stacks.
#pragma once
#include "rapt/insight/claim.h"
#include "rapt/insight/training.h"

namespace rapt::insight {

inline constexpr Claim kResidual = {
    "residual",
    "Without residual connections the gradient vanishes; with them dL/dx = dL/dy · (F'(x) + 1), "
    "and "
    "the 1 carries it through.",
    "잔차 연결이 없으면 그래디언트가 사라지고, 있으면 dL/dx = dL/dy · (F'(x) + 1)의 1이 "
    "그래디언트를 전달한다."};

struct ResidualOptions {
  double factor = 0.5, change = 0.1;
  size_t layers = 24, trained_layers = 6, probe_sentences = 256, fit_steps = 1000;
  TrainingOptions training = {};

  static ResidualOptions full() {
    ResidualOptions o;
    o.probe_sentences = 1024;
    o.fit_steps = 4000;
    o.training.steps = 600;
    return o;
  }

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit("factor", self.factor, Range{0.01, 0.99}, "slope of a layer of the chain, and 1 / slope");
    visit("layers", self.layers, Range{2, 96}, "of the chain and of the stack that is not trained");
    visit("probe_sentences", self.probe_sentences, Range{16, 4096}, "that pass through the stacks");
    visit("change", self.change, Range{0, 10},
          "of the map H(x) = x + change · G(x) that is fitted");
    visit("fit_steps", self.fit_steps, Range{1, 100000}, "updates of the fit");
    visit("trained_layers", self.trained_layers, Range{1, 96}, "of the trained stack");
    TrainingOptions::fields(self.training, visit);
  }
};

Result residual(const ResidualOptions& options, const Setting& setting);

}  // namespace rapt::insight

// "Several heads look at different things at once": what each head of a trained model looks at, and
// how differently the heads of a layer do.
#pragma once
#include "rapt/insight/claim.h"
#include "rapt/insight/head_attention.h"

namespace rapt::insight {

inline constexpr Claim kHeads = {"heads", "The heads of a layer look at different things at once.",
                                 "한 층의 여러 헤드는 동시에 서로 다른 곳을 본다."};

struct HeadsOptions {
  TextOptions text = {};
  size_t layers = 2, probe_sentences = 100;
  TrainingOptions training = {.task = Task::kSort, .length = 8, .steps = 600};

  static HeadsOptions full() {
    HeadsOptions o;
    o.text.lines = 1000;
    o.probe_sentences = 1000;
    o.training.steps = 2000;
    return o;
  }

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    TextOptions::fields(self.text, visit);
    visit("layers", self.layers, Range{1, 24}, "of the small model");
    visit("probe_sentences", self.probe_sentences, Range{1, 10000}, "that the small model reads");
    TrainingOptions::fields(self.training, visit);
  }
};

Result heads(const HeadsOptions& options, const Setting& setting);

}  // namespace rapt::insight

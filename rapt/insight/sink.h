// "Attention gathers on the first token, far beyond its share: a head that has nothing to say puts
// its weight there. A learned logit in each softmax, a sink, takes that weight over" (Xiao et al.,
// 2023). Small models learn Task::kEcho, in which most positions need nothing of the others.
#pragma once
#include "rapt/insight/claim.h"
#include "rapt/insight/head_attention.h"

namespace rapt::insight {

inline constexpr Claim kSink = {
    "sink",
    "Attention gathers on the first token, far beyond its share; a learned sink logit takes that "
    "weight over.",
    "어텐션은 첫 토큰에 제 몫보다 훨씬 많이 모이며, 학습되는 싱크 로짓이 그 가중치를 넘겨받는다."};

struct SinkOptions {
  TextOptions text = {};
  size_t layers = 2, probe_sentences = 100;
  TrainingOptions training = {.task = Task::kEcho, .length = 16, .steps = 600};

  static SinkOptions full() {
    SinkOptions o;
    o.text.lines = 1000;
    o.probe_sentences = 1000;
    o.training.steps = 3000;
    return o;
  }

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    TextOptions::fields(self.text, visit);
    visit("layers", self.layers, Range{1, 24}, "of the small models");
    visit("probe_sentences", self.probe_sentences, Range{1, 10000}, "that the small models read");
    TrainingOptions::fields(self.training, visit);
  }
};

Result sink(const SinkOptions& options, const Setting& setting);

}  // namespace rapt::insight

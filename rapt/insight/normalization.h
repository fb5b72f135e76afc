// "LayerNorm gives each sample's features mean 0 and variance 1, which gamma and beta then free and
// epsilon guards; it stabilises distributions from layer to layer, tames exploding and vanishing
// gradients and speeds training, and depends neither on the batch nor on lengths, as BatchNorm does,
// which regularises and likes large batches."
//   Rows as rapt's operation makes them, stacks as they are drawn, and small trainings of one model
//   whose norm alone differs.
#pragma once
#include "rapt/insight/claim.h"
#include "rapt/insight/training.h"

namespace rapt::insight {

inline constexpr Claim kNormalization = {
    "normalization",
    "LayerNorm stabilises distributions and gradients and speeds training, and depends neither on "
    "the batch nor on lengths, as BatchNorm does.",
    "층 정규화는 분포와 그래디언트를 안정시키고 학습을 빠르게 하며, 배치 정규화와 달리 배치 크기와 "
    "문장 길이에 의존하지 않는다."};

struct NormalizationOptions {
  size_t features = 512, tokens = 10;  // of the sentence whose rows are normalised
  double eps = 1e-5, gain = 2;
  size_t layers = 6, trained_layers = 3, repeats = 3;
  double equal_loss = 0.5;
  size_t set_sentences = 256;
  TrainingOptions training = {.length = 8, .steps = 300};

  static NormalizationOptions full() {
    NormalizationOptions o;
    o.repeats = 5;
    o.training.steps = 600;
    return o;
  }

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit("features", self.features, Range{2, 4096}, "of the rows that are normalised");
    visit("tokens", self.tokens, Range{2, 1000}, "of the sentence that they make");
    visit("eps", self.eps, Range{1e-12, 1}, "added to the variance");
    visit("gain", self.gain, Range{1.01, 10},
          "the stacks' matrices are drawn 1 / gain, 1 and gain times as large as usual");
    visit("layers", self.layers, Range{2, 48}, "of the stacks that are not trained");
    visit("trained_layers", self.trained_layers, Range{1, 24}, "of those that are");
    visit("repeats", self.repeats, Range{1, 100},
          "trainings of each kind, from other first values");
    visit("equal_loss", self.equal_loss, Range{0.001, 10},
          "the loss whose first update is compared, in nats a position");
    visit("set_sentences", self.set_sentences, Range{64, 65536},
          "of the training set that is held against new ones; a multiple of 64");
    TrainingOptions::fields(self.training, visit);
  }
};

Result normalization(const NormalizationOptions& options, const Setting& setting);

}  // namespace rapt::insight

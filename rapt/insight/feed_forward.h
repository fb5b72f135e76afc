// "Attention is a weighted sum, close to linear: without the feed-forward network's non-linearity
// the stack would be one big linear map. The network acts on each position alone, with shared
// weights, like a 1×1 convolution; expanding and contracting gives richer features."
//   Linearity and positions are measured on layers of the notes' size as they are drawn; what the
//   non-linearity and the width are worth, on small trainings.
#pragma once
#include "rapt/insight/claim.h"
#include "rapt/insight/training.h"

namespace rapt::insight {

inline constexpr Claim kFeedForward = {
    "feed-forward",
    "Without the feed-forward network's non-linearity a stack of attention is one big linear map; "
    "the network acts on each position alone, like a 1×1 convolution.",
    "피드포워드 네트워크의 비선형성이 없으면 어텐션을 쌓아도 하나의 큰 선형 변환일 뿐이며, 이 "
    "네트워크는 1×1 합성곱처럼 위치마다 따로 작용한다."};

struct FeedForwardOptions {
  size_t layer_d_model = 512, layer_d_ff = 2048, layer_heads = 8, positions = 100, layers = 6;
  size_t trained_layers = 2, repeats = 3;
  TrainingOptions training = {.task = Task::kSort, .steps = 600};

  static FeedForwardOptions full() {
    FeedForwardOptions o;
    o.repeats = 8;
    return o;
  }

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit("layer_d_model", self.layer_d_model, Range{2, 4096},
          "d_model of the layers that are not trained");
    visit("layer_d_ff", self.layer_d_ff, Range{1, 16384}, "their d_ff");
    visit("layer_heads", self.layer_heads, Range{1, 64}, "their heads; must divide that");
    visit("positions", self.positions, Range{4, 1000}, "positions of their sentence");
    visit("layers", self.layers, Range{1, 24}, "of the stack that is not trained");
    visit("trained_layers", self.trained_layers, Range{1, 24}, "of the stacks that are trained");
    visit("repeats", self.repeats, Range{1, 100},
          "trainings of each kind, from other first values");
    TrainingOptions::fields(self.training, visit);
  }
};

Result feed_forward(const FeedForwardOptions& options, const Setting& setting);

}  // namespace rapt::insight

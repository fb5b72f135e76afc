// "LayerNorm(x + SubLayer(x)), in this order, lets tens and hundreds of layers train stably."
//   The same small training in stacks of several depths, joined in six ways (nn/add_norm.h).
#pragma once
#include "rapt/insight/claim.h"
#include "rapt/insight/training.h"

namespace rapt::insight {

inline constexpr Claim kDepth = {
    "depth",
    "LayerNorm(x + SubLayer(x)), in this order, lets tens and hundreds of layers train stably.",
    "LayerNorm(x + SubLayer(x))를 이 순서로 쓰면 수십, 수백 층도 안정적으로 학습된다."};

struct DepthOptions {
  std::string depths = "6,24";
  std::string residuals = "none,post,pre,deepnorm";
  TrainingOptions training = {};

  static DepthOptions full() {
    DepthOptions o;
    o.depths = "6,24,100,200";
    o.residuals = "none,plain,post,pre,branch,deepnorm";
    return o;
  }

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit("depths", self.depths, "layers of the stacks, with commas");
    visit("residuals", self.residuals,
          "how a sub-layer is joined to its input, with commas; post is the claim's");
    TrainingOptions::fields(self.training, visit);
  }
};

Result depth(const DepthOptions& options, const Setting& setting);

}  // namespace rapt::insight

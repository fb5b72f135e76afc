// A mixture of experts in place of the feed-forward network (Shazeer et al., 2017), routed as by
// Mixtral (Jiang et al., 2024; docs/math/mixture_of_experts.md):
//   s = x G^T       the router's scores, one an expert; K: the k experts with the highest
//   y = sum over e in K, by index, of softmax(s[K])[e] * FFN_e(x)
// No expert has a limit of tokens, so a token's result depends on no other token.
//
// Where a context records, a module adds the balance of its experts (Fedus et al., 2022) to the
// side losses of the step:
//   balance = N sum over experts of f_e P_e
// f_e: the share of the choices that fell on e; P_e: the mean of softmax(s)[e]. It is 1 when tokens
// are spread evenly. An observed context is shown f as "<name>.load".
#pragma once
#include <string>
#include <vector>

#include "rapt/nn/feed_forward.h"

namespace rapt::nn {

// Parameters gate.weight [experts, d_model] and experts.0.*, experts.1.*, …, each a FeedForward.
class MixtureOfExperts : public Module {
 public:
  MixtureOfExperts(const Scope& scope, const LayerOptions& options);
  Var operator()(Context& ctx, const Var& x, const Lengths& sentences) const;

 private:
  void judge(Context& ctx, const Var& scores, const Tensor& load) const;

  const Weight& gate_;
  std::vector<FeedForward> experts_;
  size_t top_k_;
  std::string load_name_;  // to observers
};

}  // namespace rapt::nn

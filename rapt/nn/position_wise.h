// The part of a layer that acts on each position alone: one network, or a mixture of experts.
#pragma once
#include <variant>

#include "rapt/nn/mixture_of_experts.h"

namespace rapt::nn {

class PositionWise {
 public:
  PositionWise(const Scope& scope, const LayerOptions& options)
      : network_(options.experts > 0 ? Network(std::in_place_type<MixtureOfExperts>, scope, options)
                                     : Network(std::in_place_type<FeedForward>, scope, options)) {}

  Var operator()(Context& ctx, const Var& x, const Lengths& sentences) const {
    return std::visit([&](const auto& network) { return network(ctx, x, sentences); }, network_);
  }

 private:
  using Network = std::variant<FeedForward, MixtureOfExperts>;
  Network network_;
};

}  // namespace rapt::nn

// How evenly tokens are spread over the experts of each layer: what training reports.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "rapt/autograd/context.h"
#include "rapt/io/json.h"

namespace rapt {

struct ExpertUse {
  std::string module;        // "encoder.layers.1"
  double balance = 0;        // 1: evenly (nn/mixture_of_experts.h)
  std::vector<double> load;  // share of each expert
  bool operator==(const ExpertUse&) const = default;
};

// sums += weight * terms, module by module.
void add_experts(std::vector<ExpertUse>& sums, const std::vector<ExpertUse>& terms, double weight);
void add_experts(std::vector<ExpertUse>& sums, std::span<const Context::SideLoss> terms,
                 double weight);

// {"encoder.layers.1": {"balance": 1.02, "load": [0.3, 0.7]}, …}
Json to_json(const std::vector<ExpertUse>& experts);
std::vector<ExpertUse> experts_of_json(const JsonObject& object);  // throws IoError

}  // namespace rapt

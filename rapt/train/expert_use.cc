#include "rapt/train/expert_use.h"

#include <algorithm>
#include <limits>

namespace rapt {
namespace {

template <class T>
void add(std::vector<ExpertUse>& sums, std::string_view module, double balance,
         std::span<const T> load, double weight) {
  auto sum = std::ranges::find(sums, module, &ExpertUse::module);
  if (sum == sums.end()) {
    sum = sums.insert(sum, {std::string(module), 0, std::vector<double>(load.size())});
  }
  sum->balance += weight * balance;
  for (size_t e = 0; e < load.size(); ++e) sum->load[e] += weight * static_cast<double>(load[e]);
}

}  // namespace

void add_experts(std::vector<ExpertUse>& sums, const std::vector<ExpertUse>& terms, double weight) {
  for (const ExpertUse& use : terms) {
    add(sums, use.module, use.balance, std::span<const double>(use.load), weight);
  }
}

void add_experts(std::vector<ExpertUse>& sums, std::span<const Context::SideLoss> terms,
                 double weight) {
  for (const Context::SideLoss& side : terms) {
    add(sums, side.module, static_cast<double>(side.value.value().host()[0]),
        std::span<const float>(side.load.host()), weight);
  }
}

Json to_json(const std::vector<ExpertUse>& experts) {
  Json json = Json::object();
  for (const ExpertUse& use : experts) {
    json[use.module] = {{"balance", use.balance}, {"load", use.load}};
  }
  return json;
}

std::vector<ExpertUse> experts_of_json(const JsonObject& object) {
  constexpr double kLargest = std::numeric_limits<double>::max();
  std::vector<ExpertUse> experts;
  for (const std::string& module : object.keys()) {
    const JsonObject use = object.object(module);
    experts.push_back(
        {module, use.number("balance", 0, kLargest), use.numbers("load", 0, kLargest)});
  }
  return experts;
}

}  // namespace rapt

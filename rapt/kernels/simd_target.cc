#include "rapt/kernels/simd_target.h"

#include <algorithm>
#include <cctype>

#include "hwy/highway.h"
#include "rapt/base/check.h"

namespace rapt::kernels {
namespace {

// Bits of the targets, the best is the lowest.
std::vector<int64_t> target_bits() {
#ifdef HWY_COMPILE_ONLY_STATIC
  return {HWY_STATIC_TARGET};
#else
  return hwy::SupportedAndGeneratedTargets();
#endif
}

std::string name_of_target(int64_t bit) {
  std::string name = hwy::TargetName(bit);
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name;
}

}  // namespace

std::vector<std::string> simd_targets() {
  std::vector<std::string> names;
  for (const int64_t bit : target_bits()) names.push_back(name_of_target(bit));
  return names;
}

std::string simd_target() { return simd_targets().front(); }

void use_simd_target(std::string_view name) {
  std::string all;
  for (const int64_t bit : target_bits()) {
    if (name_of_target(bit) != name) {
      all += (all.empty() ? "" : ", ") + name_of_target(bit);
      continue;
    }
#ifndef HWY_COMPILE_ONLY_STATIC
    hwy::SetSupportedTargetsForTest(bit);
    hwy::GetChosenTarget().Update(bit);
#endif
    return;
  }
  throw InvalidArgument(concat("SIMD target '", name, "': this build and this CPU have ", all));
}

}  // namespace rapt::kernels

#include "rapt/testing/simd_targets.h"

#include <gtest/gtest.h>

#include "hwy/highway.h"

namespace rapt::testing {

std::vector<int64_t> simd_targets() {
#ifdef HWY_COMPILE_ONLY_STATIC
  return {HWY_STATIC_TARGET};
#else
  std::vector<int64_t> targets;
  for (int64_t bits = static_cast<int64_t>(hwy::SupportedTargets()) & HWY_TARGETS; bits != 0;) {
    const int64_t lowest = bits & -bits;
    targets.push_back(lowest);
    bits &= ~lowest;
  }
  return targets;
#endif
}

const char* simd_target_name(int64_t target) { return hwy::TargetName(target); }

std::vector<int64_t> fma_targets() {
  std::vector<int64_t> targets;
  for (const int64_t target : simd_targets()) {
    if (target < HWY_SSE4 || target == HWY_AVX2 || target == HWY_NEON) targets.push_back(target);
  }
  return targets;
}

void on_simd_target(int64_t target, const std::function<void()>& test) {
  SCOPED_TRACE(simd_target_name(target));
#ifdef HWY_COMPILE_ONLY_STATIC
  test();
#else
  hwy::SetSupportedTargetsForTest(target);
  hwy::GetChosenTarget().Update(target);
  test();
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
#endif
}

void for_each_simd_target(const std::function<void()>& test) {
  for (const int64_t target : simd_targets()) on_simd_target(target, test);
}

}  // namespace rapt::testing

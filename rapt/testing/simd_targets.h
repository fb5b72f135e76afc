// Runs a test on every SIMD target that was built and that this CPU has.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

namespace rapt::testing {

// Highway's numbers of the targets, best first. One in a build for this machine alone.
std::vector<int64_t> simd_targets();
const char* simd_target_name(int64_t target);
// Targets whose multiply-add rounds once: their results share their bits.
std::vector<int64_t> fma_targets();

void for_each_simd_target(const std::function<void()>& test);
void on_simd_target(int64_t target, const std::function<void()>& test);

}  // namespace rapt::testing

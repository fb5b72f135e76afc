// Which instructions the kernels use: the best that were built and that the CPU has, unless they are
// held to lesser ones, which serves comparisons.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace rapt::kernels {

std::vector<std::string> simd_targets();  // "avx3", "avx2", …, best first
std::string simd_target();                // the one in use
// For the whole process; before kernels run on other threads. Throws InvalidArgument for a target
// that is not among simd_targets().
void use_simd_target(std::string_view name);

}  // namespace rapt::kernels

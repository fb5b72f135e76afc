// The sizes d_k that claims compare.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

namespace rapt::insight {

inline constexpr std::array<size_t, 3> kMarkedSizes = {64, 128, 512};  // those of the notes

// 1, 2, 4, … up to `longest`, those of the notes, and `d_k`: rising, each once.
inline std::vector<size_t> compared_sizes(size_t d_k, size_t longest) {
  std::vector<size_t> all(kMarkedSizes.begin(), kMarkedSizes.end());
  for (size_t d = 1; d <= longest; d *= 2) all.push_back(d);
  std::erase_if(all, [&](size_t d) { return d > longest; });
  all.push_back(d_k);
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

}  // namespace rapt::insight

// Results that are larger than what the caches keep until somebody reads them. Written past the
// caches, their lines are not fetched before, and drive nothing out: a third less traffic for a
// kernel that writes as much as it reads. On a target without such stores it makes no difference.
#pragma once
#include <cstdint>

#include "rapt/base/matrix_view.h"

namespace rapt::kernels {

// A kernel has a few such matrices at once, and an L3 some ten MiB.
inline constexpr size_t kPastCaches = (size_t{4} << 20) / sizeof(float);

// Whole vectors of every row must be aligned too.
inline bool goes_past_caches(MatrixView<const float> m) {
  constexpr size_t kLine = 64;
  return m.rows() * m.cols() >= kPastCaches && m.stride() * sizeof(float) % kLine == 0 &&
         reinterpret_cast<uintptr_t>(m.data()) % kLine == 0;
}

}  // namespace rapt::kernels

#include "rapt/kernels/peak.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "rapt/testing/simd_targets.h"

namespace rapt::kernels {
namespace {

TEST(Peak, CountsOperationsAndCopies) {
  testing::for_each_simd_target([] {
    EXPECT_EQ(multiply_adds(10), 10 * multiply_adds(1));
    std::vector<float> from(67), to(67);
    std::iota(from.begin(), from.end(), 1.0f);
    copy(from, to);
    EXPECT_EQ(from, to);
  });
}

}  // namespace
}  // namespace rapt::kernels

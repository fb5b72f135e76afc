#include "rapt/kernels/simd_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rapt/base/check.h"
#include "rapt/kernels/peak.h"
#include "rapt/testing/simd_targets.h"

namespace rapt::kernels {
namespace {

TEST(SimdTarget, BestIsInUseUntilAnotherIsChosen) {
  const std::vector<std::string> names = simd_targets();
  ASSERT_FALSE(names.empty());
  EXPECT_EQ(simd_target(), names.front());
  const double most = multiply_adds(1);
  use_simd_target(names.back());
  EXPECT_EQ(simd_target(), names.back());
  if (names.back() == "sse4") {
    EXPECT_EQ(multiply_adds(1), 12 * 2 * 4);
    EXPECT_GE(most, 12 * 2 * 4);
  }
  testing::on_simd_target(testing::simd_targets().front(), [] {});  // ends with all of them again
  EXPECT_EQ(simd_target(), names.front());
  EXPECT_EQ(multiply_adds(1), most);
}

TEST(SimdTarget, AnUnknownOneIsRefusedWithAList) {
  EXPECT_THAT([] { use_simd_target("mmx"); },
              ::testing::ThrowsMessage<InvalidArgument>(::testing::AllOf(
                  ::testing::HasSubstr("'mmx'"), ::testing::HasSubstr(simd_targets().back()))));
}

}  // namespace
}  // namespace rapt::kernels

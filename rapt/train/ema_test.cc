#include "rapt/train/ema.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace rapt {
namespace {

TEST(Ema, FollowsTheFormula) {
  ParameterSet set(1);
  const Tensor w = Scope(set).parameter("w", {5}, Init::ones()).value;
  Pool pool(1);
  const Ema ema(set, 0.3);
  double expected = 1;
  for (uint64_t t = 1; t <= 20; ++t) {
    std::ranges::fill(w.span(), static_cast<float>(t * t));
    ema.update(t, pool);
    const double d = std::min(0.3, (1.0 + t) / (10.0 + t));
    expected = d * expected + (1 - d) * static_cast<double>(t * t);
    for (const float x : ema.average()[0].span()) EXPECT_NEAR(x, expected, 1e-5 * expected) << t;
  }
}

TEST(Ema, SwapsAndSwapsBack) {
  ParameterSet set(1);
  const Tensor w = Scope(set).parameter("w", {2}, Init::ones()).value;
  Pool pool(1);
  const Ema ema(set, 0.5);
  std::ranges::fill(w.span(), 3.0f);
  ema.swap();
  EXPECT_EQ(w.span()[1], 1.0f);
  EXPECT_EQ(ema.average()[0].span()[1], 3.0f);
  ema.swap();
  EXPECT_EQ(w.span()[1], 3.0f);
}

}  // namespace
}  // namespace rapt

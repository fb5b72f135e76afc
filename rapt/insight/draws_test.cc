#include "rapt/insight/draws.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "rapt/insight/statistics.h"

namespace rapt::insight {
namespace {

constexpr size_t kDraws = 20000;

TEST(Draws, HaveMeanZeroVarianceOneAndTheCorrelationAskedFor) {
  Pool pool(2);
  for (const Components kind :
       {Components::kNormal, Components::kUniform, Components::kRademacher}) {
    for (const double correlation : {0.0, 0.25, 1.0}) {
      const auto measure = [&](auto f) {
        return summarize(measure_draws(kDraws, 3, pool, [&](size_t draw, std::span<float> x) {
          draw_vector(x, draw_key(3, "test"), draw, {kind, correlation});
          return double{f(x)};
        }));
      };
      const auto component = measure([](auto x) { return x[1]; });
      EXPECT_TRUE(component.mean_interval().contains(0)) << name_of(kind);
      EXPECT_TRUE(component.variance_interval().contains(1)) << name_of(kind);
      const auto product = measure([](auto x) { return x[0] * x[2]; });
      EXPECT_NEAR(product.mean, correlation, 0.03) << name_of(kind);
    }
  }
}

TEST(Draws, AreOfTheirKind) {
  std::vector<float> x(1000);
  draw_vector(x, 1, 0, {Components::kRademacher});
  EXPECT_EQ(std::set<float>(x.begin(), x.end()), (std::set<float>{-1, 1}));
  draw_vector(x, 1, 0, {Components::kUniform});
  for (const float v : x) EXPECT_LE(std::fabs(v), std::sqrt(3.0));
}

TEST(Draws, DependOnTheirNumberAlone) {
  std::vector<float> a(5), b(5);
  draw_vector(a, 1, 8, {});
  draw_vector(b, 1, 9, {});
  EXPECT_NE(a, b);
  const auto first = [](size_t draw, std::span<float> x) {
    draw_vector(x, 1, draw, {});
    return double{x[0]};
  };
  Pool one(1), two(2);
  EXPECT_EQ(measure_draws(1000, 5, one, first), measure_draws(1000, 5, two, first));
}

}  // namespace
}  // namespace rapt::insight

#include "rapt/ops/scale.h"

#include "rapt/testing/everywhere.h"

namespace rapt {
namespace {

using namespace testing;

constexpr auto scale = [](Context& ctx, const Var& x) { return ops::scale(ctx, x, -1.5f); };
constexpr auto scale_ref = []<class T>(Row<T> x) {
  return each(x, [](T v) { return T(-1.5) * v; });
};

TEST(Scale, MatchesTheFormulaAndItsDerivative) {
  for_each_simd_target([] {
    for (const size_t d : {1, 8, 17}) {
      expect_values(scale, by_row(scale_ref), {{3, d}}, 1e-6);
      expect_gradient(scale, by_row(scale_ref), {{3, d}}, 1e-6);
    }
  });
}

TEST(Scale, SameBitsForThreadsAndTargets) { expect_same_bits_everywhere(scale, {{300, 77}}); }

}  // namespace
}  // namespace rapt

#include "rapt/ops/add.h"

#include <gmock/gmock.h>

#include "rapt/testing/everywhere.h"

namespace rapt {
namespace {

using ::testing::ThrowsMessage;
using namespace testing;

constexpr auto add = [](Context& ctx, const Var& a, const Var& b) { return ops::add(ctx, a, b); };
constexpr auto add_ref = []<class T>(Row<T> a, Row<T> b) {
  return each(a, b, [](T u, T v) { return u + v; });
};

TEST(Add, MatchesTheFormulaAndItsDerivative) {
  for_each_simd_target([] {
    for (const size_t d : {1, 8, 17}) {
      expect_values(add, by_row(add_ref), {{3, d}, {3, d}}, 1e-6);
      expect_gradient(add, by_row(add_ref), {{3, d}, {3, d}}, 1e-6);
    }
  });
}

TEST(Add, TwiceTheSame) {
  const auto twice = [](Context& ctx, const Var& x) { return ops::add(ctx, x, x); };
  expect_gradient(twice, by_row([]<class T>(Row<T> x) { return add_ref(x, x); }), {{3, 17}}, 1e-6);
}

TEST(Add, SameBitsForThreadsAndTargets) {
  expect_same_bits_everywhere(add, {{300, 77}, {300, 77}});
}

TEST(Add, RejectsOtherShapes) {
  Context ctx(Mode::kInference, test_pool());
  EXPECT_THAT(
      [&] {
        add(ctx, Var(Tensor::zeros({2, 3})), Var(Tensor::zeros({3})));
      },
      ThrowsMessage<InvalidArgument>("add: a is [2, 3], b is [3]"));
}

}  // namespace
}  // namespace rapt

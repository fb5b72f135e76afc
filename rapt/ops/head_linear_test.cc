#include "rapt/ops/head_linear.h"

#include <gmock/gmock.h>

#include "rapt/testing/everywhere.h"

namespace rapt {
namespace {

using ::testing::ThrowsMessage;
using namespace testing;

constexpr size_t kHeads = 3, kFirst = 1;

auto op(size_t d) {
  return [d](Context& ctx, const Var& x, const Var& w) {
    return ops::head_linear(ctx, {{x, kFirst}, Lengths::single(x.rows()), kHeads, d}, w);
  };
}
// y[r, h out + o] = sum over c of x[r, first + h d + c] w[h, o, c]
constexpr auto reference = []<class T>(const Array<T>& x, const Array<T>& w) {
  const size_t out = w.shape[1], d = w.shape[2];
  Array<T> y({x.rows(), kHeads * out});
  for (size_t r = 0; r < x.rows(); ++r) {
    for (size_t o = 0; o < kHeads * out; ++o) {
      for (size_t c = 0; c < d; ++c) y(r, o) += x(r, kFirst + o / out * d + c) * w(o, c);
    }
  }
  return y;
};

TEST(HeadLinear, MatchesTheFormulaAndItsDerivative) {
  for_each_simd_target([] {
    for (const size_t d : {1, 8, 17}) {
      const Shape x{5, kFirst + kHeads * d + 2}, w{kHeads, d + 3, d};
      expect_values(op(d), reference, {x, w}, 1e-5);
      expect_gradient(op(d), reference, {x, w}, 1e-5);
    }
  });
}

TEST(HeadLinear, SameBitsForThreadsAndTargets) {
  expect_same_bits_everywhere(op(16), {{200, 50}, {kHeads, 16, 16}});
}

TEST(HeadLinear, RejectsMatricesOfAnotherShape) {
  Context ctx(Mode::kInference, test_pool());
  EXPECT_THAT(
      [&] {
        op(4)(ctx, Var(Tensor::zeros({2, 13})), Var(Tensor::zeros({3, 4, 5})));
      },
      ThrowsMessage<InvalidArgument>("head_linear: W is [3, 4, 5], expected [3, out, 4]"));
}

}  // namespace
}  // namespace rapt

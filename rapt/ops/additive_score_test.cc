#include "rapt/ops/additive_score.h"

#include <gmock/gmock.h>

#include "rapt/kernels/additive_score_ref.h"
#include "rapt/testing/everywhere.h"

namespace rapt {
namespace {

using ::testing::ThrowsMessage;
using namespace testing;

constexpr size_t kHeads = 4, kKeyHeads = 2;
const Lengths& queries() {
  static const Lengths lengths({{7, 5, 0}, {3, 1, 0}, {9, 12, 0}});
  return lengths;
}
const Lengths& keys() {
  static const Lengths lengths({{7, 9, 0}, {3, 20, 0}, {9, 6, 0}});
  return lengths;
}

auto op(size_t d) {
  return [d](Context& ctx, const Var& q, const Var& k, const Var& v) {
    return ops::additive_score(ctx, {{q}, queries(), kHeads, d}, {{k, 1}, keys(), kKeyHeads, d}, v);
  };
}
auto reference(size_t d) {
  return [d]<class T>(const Array<T>& q, const Array<T>& k, const Array<T>& v) {
    Array<T> y({kHeads, q.rows(), keys().longest()});
    for (size_t h = 0; h < kHeads; ++h) {
      for (size_t r = 0; r < q.rows(); ++r) {
        const size_t s = queries().find(r);
        for (size_t j = 0; j < keys()[s].size; ++j) {
          const Row<T> key = k.row(keys().offset(s) + j).subspan(1 + h / 2 * d, d);
          y(h * q.rows() + r, j) =
              kernels::additive_score_ref<T>(q.row(r).subspan(h * d, d), key, v.row(h));
        }
      }
    }
    return y;
  };
}
std::array<Tensor, 3> inputs(size_t d) {
  return detail::random_inputs(
      {{queries().rows(), kHeads * d}, {keys().rows(), 1 + kKeyHeads * d}, {kHeads, d}});
}

TEST(AdditiveScore, MatchesTheFormulaAndItsDerivative) {
  for_each_simd_target([] {
    for (const size_t d : {1, 7, 8, 40}) {
      expect_values_at(op(d), reference(d), inputs(d), 3e-6);
      expect_gradient_at(op(d), reference(d), inputs(d), 1e-5);
    }
  });
}

TEST(AdditiveScore, SameBitsForThreadsAndTargets) {
  expect_same_bits_everywhere(
      op(20), {{queries().rows(), kHeads * 20}, {keys().rows(), 1 + kKeyHeads * 20}, {kHeads, 20}});
}

TEST(AdditiveScore, RejectsWhatDoesNotFit) {
  Context ctx(Mode::kInference, test_pool());
  const Var q(Tensor::zeros({18, 16})), k(Tensor::zeros({35, 9}));
  EXPECT_THAT(
      [&] {
        op(4)(ctx, q, k, Var(Tensor::zeros({4, 3})));
      },
      ThrowsMessage<InvalidArgument>("additive_score: v is [4, 3], expected [4, 4]"));
}

}  // namespace
}  // namespace rapt

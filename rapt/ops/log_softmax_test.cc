#include "rapt/ops/log_softmax.h"

#include <algorithm>
#include <limits>

#include "rapt/kernels/softmax_ref.h"
#include "rapt/testing/everywhere.h"

namespace rapt {
namespace {

using kernels::log_softmax_ref;
using namespace testing;

constexpr auto log_softmax = [](Context& ctx, const Var& x) { return ops::log_softmax(ctx, x); };
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(LogSoftmax, MatchesTheFormulaAndItsDerivative) {
  for_each_simd_target([] {
    for (const size_t d : {1, 3, 8, 17, 64, 1000}) {
      const std::array x{random_tensor({4, d}, 1, 12.0f)};
      expect_values_at(log_softmax, by_row(log_softmax_ref), x, 1e-6);
      expect_gradient_at(log_softmax, by_row(log_softmax_ref), x, 1e-6);
    }
  });
}

TEST(LogSoftmax, SuppressedSymbolsStayImpossible) {
  for_each_simd_target([] {
    Context ctx(Mode::kInference, test_pool());
    const Tensor x = Tensor::zeros({2, 19});
    std::fill_n(x.data() + 1, 37, -kInfinity);
    const Tensor y = log_softmax(ctx, Var(x)).value();
    for (size_t i = 0; i < 38; ++i) EXPECT_EQ(y.host()[i], i == 0 ? 0.0f : -kInfinity) << i;
  });
}

TEST(LogSoftmax, ARowHasTheSameBitsInAnyBatch) {
  Context ctx(Mode::kInference, test_pool());
  const Tensor x = random_tensor({130, 999}, 1, 10.0f);
  const Tensor y = log_softmax(ctx, Var(x)).value();
  for (const size_t r : {0, 64, 129}) {
    expect_same_bits(log_softmax(ctx, Var(x.slice_rows(r, r + 1).clone())).value(),
                     y.slice_rows(r, r + 1));
  }
}

TEST(LogSoftmax, NaNReachesTheWholeRowFromEveryPlace) {
  for_each_simd_target([] {
    for (size_t at = 0; at < 37; ++at) {
      const Tensor x = random_tensor({2, 37}, 1);
      x.host()[at] = std::numeric_limits<float>::quiet_NaN();
      Context ctx(Mode::kInference, test_pool());
      const Tensor y = log_softmax(ctx, Var(x)).value();
      for (size_t i = 0; i < 74; ++i) EXPECT_EQ(std::isnan(y.host()[i]), i < 37) << at;
    }
  });
}

TEST(LogSoftmax, SameBitsForThreadsAndTargets) {
  expect_same_bits_everywhere(log_softmax, {{200, 77}});
}

// Each read by itself, with what is masked and what is no number.
TEST(LogProbabilities, AreTheBitsOfLogSoftmax) {
  for_each_simd_target([] {
    for (const size_t d : {1, 17, 127, 128, 129, 1000}) {
      const Tensor x = random_tensor({5, d}, 1, 12.0f);
      x.host()[d / 2] = -kInfinity;
      std::fill_n(x.data() + d, d, -kInfinity);
      x.host()[2 * d + d / 3] = std::numeric_limits<float>::quiet_NaN();
      Context ctx(Mode::kInference, test_pool());
      const Tensor y = log_softmax(ctx, Var(x)).value(), read = ctx.empty(x.shape());
      const ops::LogProbabilities log_p(ctx, x);
      for (size_t r = 0; r < x.rows(); ++r) {
        const ops::LogProbabilities::Row row = log_p.row(r);
        ASSERT_EQ(row.size(), d);
        for (size_t i = 0; i < d; ++i) read.matrix().row(r)[i] = row[i];
        for (size_t b = 0; b < row.blocks() && r != 2; ++b) {
          const size_t first = b * ops::LogProbabilities::kBlock;
          const auto block =
              y.matrix().row(r).subspan(first).first(std::min(log_p.kBlock, d - first));
          EXPECT_EQ(row.maximum(b), *std::ranges::max_element(block)) << d;
        }
      }
      expect_same_bits(read, y);
    }
  });
}

}  // namespace
}  // namespace rapt

#include "rapt/ops/gather_rows.h"

#include <gmock/gmock.h>

#include "rapt/kernels/gather_rows.h"
#include "rapt/kernels/gather_rows_ref.h"
#include "rapt/testing/everywhere.h"

namespace rapt {
namespace {

using ::testing::ThrowsMessage;
using namespace testing;

// 200 rows of 7, some never, some often.
std::vector<int32_t> many() {
  std::vector<int32_t> index(200);
  for (size_t r = 0; r < index.size(); ++r) index[r] = static_cast<int32_t>(r * r % 7);
  return index;
}
constexpr auto gather = [](Context& ctx, const Var& x) { return ops::gather_rows(ctx, x, many()); };
constexpr auto gather_ref = []<class T>(const Array<T>& x) {
  const std::vector<int32_t> index = many();
  Array<T> y(Shape{index.size(), x.cols()});
  for (size_t r = 0; r < index.size(); ++r) {
    for (size_t c = 0; c < x.cols(); ++c) y(r, c) = x(static_cast<size_t>(index[r]), c);
  }
  return y;
};

TEST(GatherRows, MatchesTheFormulaAndItsDerivative) {
  for_each_simd_target([] {
    for (const size_t d : {1, 8, 17, 100}) {
      expect_values(gather, gather_ref, {{7, d}}, 0);
      expect_gradient(gather, gather_ref, {{7, d}}, 1e-5);
    }
  });
}

TEST(GatherRows, GradientsAddInOrderOfRows) {
  for (const int64_t target : fma_targets()) {
    on_simd_target(target, [] {
      const Tensor dy = random_tensor({200, 33}, 1), table = random_tensor({7, 33}, 2);
      const Tensor expected = table.clone();
      kernels::scatter_add_rows(dy.matrix(), many(), 1.7f, {}, table.matrix(), test_pool());
      kernels::scatter_add_rows_ref(dy.matrix(), many(), 1.7f, expected.matrix());
      expect_same_bits(table, expected);
    });
  }
}

TEST(GatherRows, SameBitsForThreadsAndTargets) { expect_same_bits_everywhere(gather, {{7, 45}}); }

TEST(GatherRows, NamesAnIndexThatIsOutOfRange) {
  Context ctx(Mode::kInference, test_pool());
  const auto call = [&](int32_t i) {
    return [&ctx, i] { ops::gather_rows(ctx, Var(Tensor::zeros({3, 2})), std::array{0, i}); };
  };
  EXPECT_THAT(call(3),
              ThrowsMessage<InvalidArgument>("gather_rows: index 3 at 1, expected one of 3 rows"));
  EXPECT_THAT(call(-1),
              ThrowsMessage<InvalidArgument>("gather_rows: index -1 at 1, expected one of 3 rows"));
}

}  // namespace
}  // namespace rapt

#include "rapt/kernels/partials.h"

#include "rapt/testing/expect.h"

namespace rapt::kernels {
namespace {

TEST(Partials, AddsRowsInOrderToWhatIsThere) {
  const Tensor partial = testing::random_tensor({9, 600}, 1),
               total = testing::random_tensor({600}, 2);
  const Tensor expected = total.clone();
  for (size_t i = 0; i < 600; ++i) {
    for (size_t b = 0; b < 9; ++b) expected.host()[i] += partial.host()[b * 600 + i];
  }
  add_partials(partial.matrix(), total.span(), testing::test_pool());
  testing::expect_same_bits(total, expected);
}

}  // namespace
}  // namespace rapt::kernels

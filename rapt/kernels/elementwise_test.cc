#include "rapt/kernels/elementwise.h"

#include "rapt/testing/expect.h"

namespace rapt::kernels {
namespace {

using namespace testing;

TEST(Elementwise, AddsAndScalesEveryElementInPlaceToo) {
  for_each_simd_target([] {
    for (const size_t n : {size_t{1}, size_t{17}, (size_t{1} << 15) + 3}) {
      const Tensor a = random_tensor({n}, 1), b = random_tensor({n}, 2);
      const Tensor sum = Tensor::zeros({n}), scaled = a.clone();
      add(a.span(), b.span(), sum.span(), test_pool());
      scale(scaled.span(), 1.7f, scaled.span(), test_pool());
      for (size_t i = 0; i < n; ++i) {
        ASSERT_EQ(sum.host()[i], a.host()[i] + b.host()[i]);
        ASSERT_EQ(scaled.host()[i], a.host()[i] * 1.7f);
      }
    }
  });
}

}  // namespace
}  // namespace rapt::kernels

#include "rapt/ops/layer_norm.h"

#include <gmock/gmock.h>

#include <limits>

#include "rapt/kernels/layer_norm.h"
#include "rapt/kernels/layer_norm_ref.h"
#include "rapt/kernels/past_caches.h"
#include "rapt/testing/everywhere.h"

namespace rapt {
namespace {

using kernels::layer_norm_ref;
using ::testing::ThrowsMessage;
using namespace testing;

constexpr auto layer_norm = [](auto&&... args) { return ops::layer_norm(args..., 1e-5f); };

TEST(LayerNorm, MatchesTheFormulaAndItsDerivative) {
  for_each_simd_target([] {
    for (const size_t d : {1, 3, 8, 17, 32, 100, 512}) {
      expect_values(layer_norm, by_row(layer_norm_ref(1e-5)), {{4, d}, {d}, {d}}, 1e-5);
      expect_gradient(layer_norm, by_row(layer_norm_ref(1e-5)), {{4, d}, {d}, {d}}, 1e-4);
    }
  });
}

TEST(LayerNorm, GradientOfParametersSpansBlocksOfRows) {
  for_each_simd_target([] {
    expect_gradient(layer_norm, by_row(layer_norm_ref(1e-5)), {{2 * kRowBlock + 5, 9}, {9}, {9}},
                    1e-4);
  });
}

TEST(LayerNorm, IsTwoPass) {  // E[x^2] - E[x]^2 would lose all digits here
  for_each_simd_target([] {
    Tensor x = random_tensor({2, 64}, 1);
    for (float& v : x.host()) v = 4096.0f + v;
    expect_values_at(layer_norm, by_row(layer_norm_ref(1e-5)),
                     std::array{x, random_tensor({64}, 2), random_tensor({64}, 3)}, 1e-3);
  });
}

TEST(LayerNorm, UsesEpsilon) {
  const auto large = [](auto&&... args) { return ops::layer_norm(args..., 0.5f); };
  expect_values(large, by_row(layer_norm_ref(0.5)), {{3, 8}, {8}, {8}}, 1e-5);
}

TEST(LayerNorm, SameBitsForThreadsAndTargets) {
  expect_same_bits_everywhere(layer_norm, {{200, 77}, {77}, {77}});
}

TEST(LayerNorm, ARowDoesNotDependOnItsNeighbours) {
  Context ctx(Mode::kInference, test_pool());
  const Tensor x = random_tensor({130, 45}, 1), g = random_tensor({45}, 2);
  const Tensor y = layer_norm(ctx, Var(x), Var(g), Var(g)).value();
  for (const size_t r : {0, 64, 129}) {
    const Var alone(x.slice_rows(r, r + 1).clone());
    expect_same_bits(layer_norm(ctx, alone, Var(g), Var(g)).value(), y.slice_rows(r, r + 1));
  }
}

TEST(LayerNorm, GradientPastTheCachesHasTheSameBits) {
  const size_t d = 519, rows = kernels::kPastCaches / d + 1;  // the rows end within a vector
  const Tensor x = random_tensor({rows, d}, 0), dy = random_tensor({rows, d}, 1);
  const Tensor gamma = random_tensor({d}, 2), mean = random_tensor({rows}, 3);
  // dx, dgamma and dbeta, where a row of dx has so many floats.
  const auto gradient = [&](size_t stride, bool past) {
    const Tensor wide = Tensor::zeros({rows, stride});
    const Tensor dgamma = Tensor::zeros({d}), dbeta = Tensor::zeros({d});
    const Tensor partial = Tensor::zeros({row_block_count(rows), 2 * d});
    const auto dx = wide.matrix().slice_cols(0, d);
    EXPECT_EQ(kernels::goes_past_caches(dx), past);
    kernels::layer_norm_backward(x.matrix(), gamma.span(), {mean.span(), mean.span()}, dy.matrix(),
                                 dx, dgamma.span(), dbeta.span(), partial.matrix(), test_pool());
    std::vector<float> all;
    append_columns(wide, d, all);
    for (const Tensor& t : {dgamma, dbeta}) all.insert(all.end(), t.host().begin(), t.host().end());
    return all;
  };
  for_each_simd_target([&] { EXPECT_EQ(gradient(528, true), gradient(d, false)); });
}

TEST(LayerNorm, KeepsNaN) {
  for_each_simd_target([] {
    Context ctx(Mode::kInference, test_pool());
    const Tensor x = random_tensor({2, 19}, 1), g = random_tensor({19}, 2);
    x.host()[18] = std::numeric_limits<float>::quiet_NaN();
    const Tensor y = layer_norm(ctx, Var(x), Var(g), Var(g)).value();
    for (size_t i = 0; i < 38; ++i) EXPECT_EQ(std::isnan(y.host()[i]), i < 19) << i;
  });
}

TEST(LayerNorm, RejectsParametersOfTheWrongWidth) {
  Context ctx(Mode::kInference, test_pool());
  const auto call = [&](size_t gamma, size_t beta) {
    return [&ctx, gamma, beta] {
      layer_norm(ctx, Var(Tensor::zeros({2, 8})), Var(Tensor::zeros({gamma})),
                 Var(Tensor::zeros({beta})));
    };
  };
  EXPECT_THAT(call(7, 8), ThrowsMessage<InvalidArgument>("layer_norm: gamma is [7], expected [8]"));
  EXPECT_THAT(call(8, 9), ThrowsMessage<InvalidArgument>("layer_norm: beta is [9], expected [8]"));
}

}  // namespace
}  // namespace rapt

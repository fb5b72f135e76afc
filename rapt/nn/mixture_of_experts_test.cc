// Experts against their formula from the outside: each expert by itself, the router by hand.
#include "rapt/nn/mixture_of_experts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "rapt/kernels/mixture_of_experts_ref.h"
#include "rapt/testing/expect.h"

namespace rapt {
namespace {

using testing::expect_same_bits;
using testing::random_tensor;
using testing::test_pool;

constexpr size_t kWidth = 12, kExperts = 4;

class Experts : public ::testing::Test {
 protected:
  static nn::LayerOptions options() {
    return {.d_model = kWidth,
            .d_ff = 20,
            .activation = kernels::Activation::kSilu,
            .gated = true,
            .experts = kExperts,
            .experts_top_k = 2,
            .dropout_activation = 0.2f};
  }
  ParameterSet set_{3};
  nn::MixtureOfExperts moe_{Scope(set_), options()};
  const Tensor x_ = random_tensor({40, kWidth}, 5);
  const Lengths lengths_{{{7, 25, 0}, {9, 15, 4}}};
};

TEST_F(Experts, AreWeightedByTheRouter) {
  Context ctx(Mode::kInference, test_pool());
  const Tensor y = moe_(ctx, x_, lengths_).value();
  const MatrixView<float> gate = set_.find("gate.weight")->value.matrix();
  ParameterSet copies(3);  // first values follow names: the same experts, each by itself
  std::vector<nn::FeedForward> experts;
  for (size_t e = 0; e < kExperts; ++e) {
    experts.emplace_back(Scope(copies) / "experts" / std::to_string(e), options());
  }
  testing::Array<double> expected(x_.shape());
  std::set<size_t> used;
  for (size_t r = 0; r < x_.rows(); ++r) {
    std::vector<double> scores(kExperts);
    for (size_t e = 0; e < kExperts; ++e) {
      for (size_t c = 0; c < kWidth; ++c) {
        scores[e] += static_cast<double>(x_.matrix().row(r)[c]) * gate.row(e)[c];
      }
    }
    const std::vector<size_t> chosen = kernels::top_k_ref(Row<double>(scores), 2);
    const double total = std::exp(scores[chosen[0]]) + std::exp(scores[chosen[1]]);
    for (const size_t e : chosen) {
      const Tensor one = experts[e](ctx, x_.slice_rows(r, r + 1), Lengths::single(1)).value();
      for (size_t c = 0; c < kWidth; ++c) {
        expected(r, c) += std::exp(scores[e]) / total * one.host()[c];
      }
      used.insert(e);
    }
  }
  EXPECT_EQ(used.size(), kExperts);
  testing::expect_near(y, expected, 1e-6);
}

TEST_F(Experts, ATokenDoesNotDependOnOthers) {
  const auto run = [&](const Tensor& x, const Lengths& lengths) {
    Context ctx(Mode::kTraining, test_pool(), 5, 6);
    return moe_(ctx, x, lengths).value();
  };
  const Tensor all = run(x_, lengths_);
  for (const size_t r : {0, 24, 25, 39}) {
    const RowKey key = lengths_.key(r);
    expect_same_bits(run(x_.slice_rows(r, r + 1), Lengths({{key.id, 1, key.position}})),
                     all.slice_rows(r, r + 1));
  }
}

TEST_F(Experts, TellTheirLoadAndTheirBalance) {
  Context ctx(Mode::kEvaluation, test_pool());
  Tensor seen;
  ctx.observe([&](std::string_view name, const Tensor& value) {
    EXPECT_EQ(name, "load");
    seen = value;
  });
  moe_(ctx, ctx.leaf(x_), lengths_);
  ASSERT_EQ(ctx.side_losses().size(), 1u);
  const Context::SideLoss& loss = ctx.side_losses()[0];
  expect_same_bits(seen, loss.load);
  double sum = 0;
  for (const float share : loss.load.host()) sum += share;
  EXPECT_NEAR(sum, 1, 1e-6);
  EXPECT_GT(loss.value.value().host()[0], 0.5f);
  EXPECT_LT(loss.value.value().host()[0], static_cast<float>(kExperts));
  ctx.clear();
  EXPECT_TRUE(ctx.side_losses().empty());
}

TEST_F(Experts, NoRowsGiveNoRows) {
  Context ctx(Mode::kEvaluation, test_pool());
  EXPECT_EQ(moe_(ctx, Tensor::zeros({0, kWidth}), Lengths()).shape(), (Shape{0, kWidth}));
  EXPECT_TRUE(ctx.side_losses().empty());
}

}  // namespace
}  // namespace rapt

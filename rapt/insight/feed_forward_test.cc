#include "rapt/insight/feed_forward.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rapt/insight/experiment_test.h"
#include "rapt/insight/linearity.h"
#include "rapt/insight/position_wise.h"

namespace rapt::insight {
namespace {

using testing::AllOf;
using testing::Each;
using testing::Gt;
using testing::Lt;

const nn::LayerOptions kSizes = {.d_model = 32, .heads = 4, .d_ff = 64};

TEST(Curvature, IsZeroForAnAffineMapAndKnownForASquare) {
  const auto map = [](auto f) {
    return [f](const Tensor& x) {
      const Tensor y = x.clone();
      for (float& v : y.host()) v = f(v);
      return y;
    };
  };
  EXPECT_LT(curvature(map([](float v) { return 3 * v + 2; }), {50, 40}, 1, 4, 1), 1e-6);
  // (x + y)^2 - x^2 - y^2 = 2 x y, whose mean square is 4; that of (x + y)^2 is 3 · 2^2.
  EXPECT_NEAR(curvature(map([](float v) { return v * v; }), {50, 40}, 1, 4, 1), std::sqrt(4.0 / 12),
              0.02);
}

TEST(Linearity, IsThatOfEachPart) {
  Pool pool(1);
  const Linearity l = measure_linearity(kSizes, 10, 3, 1, pool);
  EXPECT_THAT(l.linear_ffn, Each(Lt(1e-6)));
  EXPECT_THAT(l.held_attention, Each(Lt(1e-6)));
  EXPECT_THAT(l.relu_ffn, Each(AllOf(Gt(0.1), Lt(1))));
  // Small inputs give small scores and nearly even weights, which hardly move.
  EXPECT_LT(l.attention.front(), 0.01);
  EXPECT_GT(l.attention.back(), 0.1);
  EXPECT_LT(l.held_stack, 1e-5);
  EXPECT_GT(l.linear_stack, 1e-3);
  EXPECT_LT(l.one_matrix, 1e-6);
  EXPECT_LT(l.held_itself, 1e-6);
}

TEST(PositionWise, IsTheFeedForwardNetworkAndNotAttention) {
  Pool pool(1);
  const PositionWise p = measure_positions(kSizes, 10, 1, pool);
  EXPECT_EQ(p.ffn_permuted_differences, 0U);
  EXPECT_LT(p.attention_permuted, 1e-5);  // without positions it does not know the order either
  EXPECT_EQ(p.ffn_rows_changed, 1U);
  EXPECT_EQ(p.attention_rows_changed, 10U);
  EXPECT_LT(p.convolution, 1e-6);
  EXPECT_EQ(p.word_before, 0);
  EXPECT_GT(p.word_after, 0.01);
  EXPECT_GT(p.word_ffn, 0.01);
}

FeedForwardOptions small() {
  FeedForwardOptions o;
  o.layer_d_model = 32, o.layer_d_ff = 64, o.layer_heads = 4, o.positions = 10, o.layers = 2;
  o.trained_layers = 1, o.repeats = 2;
  o.training.steps = 30;
  return o;
}

TEST(FeedForward, MeasuresTheSameForAnyThreads) {
  const Measured m(feed_forward, small());
  EXPECT_EQ(m["ffn_rows_changed"], 1);
  EXPECT_LT(m["loss_relu"], std::log(16.0));
  EXPECT_EQ(m.result.verdict, Verdict::kHoldsWhen);
}

TEST(FeedForward, RefusesHeadsThatDoNotDivide) {
  Pool pool(1);
  FeedForwardOptions o = small();
  o.layer_heads = 5;
  EXPECT_THAT([&] { feed_forward(o, {pool}); },
              testing::ThrowsMessage<InvalidArgument>(testing::HasSubstr("--layer-heads 5")));
}

}  // namespace
}  // namespace rapt::insight

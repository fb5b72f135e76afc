#include "rapt/insight/residual.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "rapt/insight/experiment_test.h"
#include "rapt/insight/residual_chain.h"
#include "rapt/insight/residual_fit.h"
#include "rapt/insight/residual_stack.h"

namespace rapt::insight {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Lt;
using ::testing::SizeIs;

TEST(Chain, OfNumbersIsTheProductOfSlopes) {
  const Chain half = number_chain(0.5, 3);
  EXPECT_THAT(half.without, ElementsAre(1, 0.5, 0.25, 0.125));
  EXPECT_THAT(half.with, ElementsAre(1, 1.5, 2.25, 3.375));
  EXPECT_THAT(number_chain(-1, 2).with, ElementsAre(1, 0, 0));  // the 1 is cancelled
}

TEST(Chain, OfRandomMatricesGrowsByTheirGain) {
  constexpr size_t kLayers = 8, kWidth = 128;
  const Chain chain = vector_chain(0.5, kLayers, kWidth, 3);
  // The logarithm of a factor has a spread of about 1 / sqrt(2 * 128) = 0.06 a layer.
  EXPECT_NEAR(std::log(chain.without.back()), kLayers * std::log(0.5), 0.6);
  EXPECT_NEAR(std::log(chain.with.back()), kLayers * std::log(std::sqrt(1.25)), 0.6);
}

TrainingOptions tiny() {
  TrainingOptions o;
  o.d_model = 16;
  o.heads = 2;
  o.d_ff = 16;
  o.steps = 3;
  return o;
}

class Stack : public ::testing::TestWithParam<Residual> {
 protected:
  static constexpr size_t kLayers = 3;
  const TrainingOptions options = tiny();
  const TaskBatch batch = task_batch(options, 1, 0, 8);
  Pool pool{1};
  StackView view = view_stack(*residual_model(options, GetParam(), kLayers, 1), batch, pool);

  // The largest |a - b| as a share of the largest |b|.
  static double difference(const Tensor& a, const Tensor& b) {
    double most = 0, size = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      most = std::max(most, std::abs(static_cast<double>(a.host()[i] - b.host()[i])));
      size = std::max(size, std::abs(static_cast<double>(b.host()[i])));
    }
    return most / size;
  }
};

TEST_P(Stack, ShowsEverySubLayer) {
  ASSERT_THAT(view.sub_layers, SizeIs(2 * kLayers));
  for (const SubLayerView& v : view.sub_layers) {
    for (const Tensor* t : {&v.x, &v.fx, &v.dx, &v.dx_through_f}) {
      EXPECT_EQ(t->shape(), Shape({batch.ids.size(), options.d_model}));
    }
  }
  EXPECT_THAT(branch_ratios(view), SizeIs(2 * kLayers));
  EXPECT_NEAR(recovered_input(view).front(), 1, 1e-3);
}

TEST_P(Stack, TheValuesAreThoseOfTheKind) {
  const SubLayerView& v = view.sub_layers[0];
  const Tensor& y = view.sub_layers[1].x;
  if (GetParam() == Residual::kNone) EXPECT_EQ(difference(v.fx, y), 0);
  if (GetParam() != Residual::kPlain && GetParam() != Residual::kPre) return;
  const Tensor sum = v.x.clone();
  for (size_t i = 0; i < sum.size(); ++i) sum.host()[i] += v.fx.host()[i];
  EXPECT_LT(difference(sum, y), 1e-6);
}

TEST_P(Stack, TheOneIsWhatTheKindSays) {
  const GradientParts parts = gradient_parts(view);
  ASSERT_THAT(parts.through_one, SizeIs(2 * kLayers - 1));
  switch (GetParam()) {
    case Residual::kNone:
      EXPECT_THAT(parts.through_one, Each(0));
      break;
    case Residual::kPlain:
    case Residual::kPre:
      for (const double one : parts.through_one) EXPECT_NEAR(one, 1, 1e-5);
      break;
    default:  // x and F(x) are not opposed, so that their sum is longer than x
      EXPECT_THAT(parts.through_one, Each(Lt(1)));
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, Stack,
                         ::testing::Values(Residual::kNone, Residual::kPlain, Residual::kPost,
                                           Residual::kPre));

TEST(Fit, LearnsTheSmallChange) {
  Pool pool(1);
  const FitOptions o{.width = 4, .steps = 200, .batch = 32};
  const std::vector<double> losses = fit(o, 1, true, 1, pool);
  ASSERT_THAT(losses, SizeIs(200));
  EXPECT_LT(losses.back(), 0.2 * losses.front());
}

TEST(Fit, OfNoChangeIsTheIdentity) {
  Pool pool(1);
  const FitOptions o{.width = 4, .steps = 1, .batch = 512, .change = 0};
  // The first loss of x + F(x) is E[F(x)^2], that of F(x) alone has E[x^2] = 1 more.
  EXPECT_NEAR(fit(o, 1, false, 1, pool)[0] - fit(o, 1, true, 1, pool)[0], 1, 0.5);
}

TEST(Residual, MeasuresAllOfIt) {
  ResidualOptions o;
  o.training = tiny();
  o.layers = 8;
  o.trained_layers = 2;
  o.probe_sentences = 40;
  o.fit_steps = 20;
  const Measured m(residual, o);
  EXPECT_DOUBLE_EQ(m["chain_without_factor"], std::pow(0.5, 8));
  EXPECT_DOUBLE_EQ(m["chain_with_factor"], std::pow(1.5, 8));
  EXPECT_DOUBLE_EQ(m["chain_with_minus_factor"], std::pow(0.5, 8));
  EXPECT_LT(m["gradient_none"], 1e-2);
  EXPECT_GT(m["gradient_plain"], 0.1);
  EXPECT_NEAR(m["one_pre"], 1, 1e-5);
  EXPECT_LT(m["one_post"], 0.95);
  EXPECT_GT(m["recovered_pre"], m["recovered_none"]);
}

}  // namespace
}  // namespace rapt::insight

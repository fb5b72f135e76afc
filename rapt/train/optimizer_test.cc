#include "rapt/train/optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "rapt/base/philox.h"
#include "rapt/base/random.h"

namespace rapt {
namespace {

// The formulas of the header for one number, in double.
struct Reference {
  double w, m = 0, v = 0;
  void step(const TrainOptions& o, double gradient, double norm, double lr, int t, bool decays) {
    const double decay = decays || o.decay == Decay::kAll ? o.weight_decay : 0;
    const double clip = o.clip_norm > 0 ? std::min(1.0, o.clip_norm / (norm + 1e-6)) : 1;
    double g = clip * gradient;
    if (o.optimizer == OptimizerKind::kAdam) g += decay * w;
    if (o.optimizer == OptimizerKind::kAdamW) w *= 1 - lr * decay;
    m = o.beta1 * m + (1 - o.beta1) * g;
    v = o.beta2 * v + (1 - o.beta2) * g * g;
    const double m_hat = m / (1 - std::pow(o.beta1, t)), v_hat = v / (1 - std::pow(o.beta2, t));
    w -= lr * m_hat / (std::sqrt(v_hat) + o.eps);
  }
};

class OptimizerTest : public testing::Test {
 protected:
  OptimizerTest() {
    const Scope scope(set_);
    scope.weight("matrix", 7, 9, Init::xavier());
    scope.parameter("bias", {5}, Init::ones());
  }

  // 10 updates with gradients of growing size; compares every value with the reference.
  void expect_formula(const TrainOptions& options) {
    Pool pool(2);
    const Optimizer optimizer(set_, options);
    const ParameterBlock gradient(set_);
    std::vector<Reference> expected;
    for (size_t i = 0; i < 2; ++i) {
      for (const float w : set_[i].value.span()) expected.push_back({w});
    }
    for (int t = 1; t <= 10; ++t) {
      for (size_t i = 0; i < 2; ++i) {
        fill_normal(gradient[i].span(), static_cast<uint64_t>(10 * t) + i, 0, 0.05 * t);
      }
      const double norm = norm_of(gradient, pool), lr = 0.01 * t;
      size_t at = 0;
      for (size_t i = 0; i < 2; ++i) {
        for (const float g : gradient[i].span()) {
          expected[at++].step(options, g, norm, lr, t, set_[i].decay);
        }
      }
      optimizer.update(gradient, norm, lr, static_cast<uint64_t>(t), pool);
      for (const float g : gradient.all()) ASSERT_EQ(g, 0.0f);
    }
    size_t at = 0;
    for (size_t i = 0; i < 2; ++i) {
      for (const float w : set_[i].value.span()) {
        EXPECT_NEAR(w, expected[at].w, 2e-6 * (1 + std::abs(expected[at].w))) << set_[i].name;
        ++at;
      }
    }
  }
  ParameterSet set_{1};
};

TEST_F(OptimizerTest, FollowsTheFormulasWithEveryOption) {
  for (const OptimizerKind kind : {OptimizerKind::kAdam, OptimizerKind::kAdamW}) {
    for (const Decay decay : {Decay::kMatrices, Decay::kAll}) {
      for (const double clip : {0.0, 0.3}) {
        TrainOptions options;
        options.optimizer = kind;
        options.decay = decay;
        options.clip_norm = clip;
        options.weight_decay = 0.1;
        options.eps = 1e-3;
        options.beta1 = 0.8;
        options.beta2 = 0.95;
        expect_formula(options);
      }
    }
  }
}

TEST_F(OptimizerTest, TheNormIsThatOfAllParametersTogether) {
  Pool pool(2);
  const ParameterBlock gradient(set_);
  std::ranges::fill(gradient[0].span(), 2.0f);
  std::ranges::fill(gradient[1].span(), 3.0f);
  EXPECT_FLOAT_EQ(static_cast<float>(norm_of(gradient, pool)), std::sqrt(63 * 4.0f + 5 * 9.0f));
  gradient[1].span()[4] = std::nanf("");
  EXPECT_TRUE(std::isnan(norm_of(gradient, pool)));
}

TEST_F(OptimizerTest, StateThatWasStoredGoesOnWithTheSameBits) {
  Pool pool(1);
  const TrainOptions options;
  const Optimizer one(set_, options), other(set_, options);
  const ParameterBlock gradient(set_);
  fill_normal(gradient[0].span(), 1, 0, 1);
  one.update(gradient, 1, 0.1, 1, pool);
  TensorMap state;
  one.store(state);
  EXPECT_TRUE(state.contains("exp_avg.matrix"));
  EXPECT_TRUE(state.contains("exp_avg_sq.bias"));
  other.load(state, "file");
  const Tensor before = set_[0].value.clone();
  fill_normal(gradient[0].span(), 2, 0, 1);
  one.update(gradient, 1, 0.1, 2, pool);
  const Tensor expected = set_[0].value.clone();
  std::ranges::copy(before.span(), set_[0].value.span().begin());
  fill_normal(gradient[0].span(), 2, 0, 1);
  other.update(gradient, 1, 0.1, 2, pool);
  EXPECT_TRUE(std::ranges::equal(set_[0].value.span(), expected.span()));
}

TEST_F(OptimizerTest, TheAverageFollowsItsFormula) {
  Pool pool(1);
  TrainOptions options;
  options.ema_decay = 0.3;
  const Optimizer optimizer(set_, options);
  const ParameterBlock gradient(set_);
  const Tensor w = set_[1].value;
  double expected = static_cast<double>(w.span()[0]);
  for (uint64_t t = 1; t <= 10; ++t) {
    std::ranges::fill(gradient[1].span(), t % 3 == 0 ? -1.0f : 1.0f);
    optimizer.update(gradient, 1, 0.1, t, pool);
    const double d = std::min(0.3, (1.0 + t) / (10.0 + t));
    expected = d * expected + (1 - d) * static_cast<double>(w.span()[0]);
    for (const float x : (*optimizer.average())[1].span()) EXPECT_NEAR(x, expected, 1e-5) << t;
  }
}

TEST_F(OptimizerTest, WeightsAndAverageChangePlacesAndBack) {
  Pool pool(1);
  TrainOptions options;
  options.ema_decay = 0.5;
  const Optimizer optimizer(set_, options);
  const Tensor w = set_[1].value;
  std::ranges::fill(w.span(), 3.0f);
  optimizer.swap_average();
  EXPECT_EQ(w.span()[4], 1.0f);
  EXPECT_EQ((*optimizer.average())[1].span()[4], 3.0f);
  optimizer.swap_average();
  EXPECT_EQ(w.span()[4], 3.0f);
  const Optimizer without(set_, {});
  EXPECT_EQ(without.average(), nullptr);
  without.swap_average();
  EXPECT_EQ(w.span()[4], 3.0f);
}

TEST_F(OptimizerTest, NamesTheFileAndTheTensorThatIsMissingOrMisshapen) {
  const Optimizer optimizer(set_, {});
  EXPECT_THAT([&] { optimizer.load({}, "x/optimizer.safetensors"); },
              testing::ThrowsMessage<IoError>(
                  testing::HasSubstr("x/optimizer.safetensors: exp_avg.matrix is missing")));
  TensorMap state;
  optimizer.store(state);
  state["exp_avg_sq.bias"] = Tensor::zeros({6});
  EXPECT_THAT(
      [&] { optimizer.load(state, "file"); },
      testing::ThrowsMessage<IoError>(testing::HasSubstr("exp_avg_sq.bias is [6], expected [5]")));
}

}  // namespace
}  // namespace rapt

#include "rapt/autograd/context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "rapt/base/check.h"

namespace rapt {
namespace {

using ::testing::ElementsAre;

// y = factor * x, with a gradient that can be told apart.
Var scaled(Context& ctx, const Var& x, float factor) {
  const Tensor y = ctx.empty(x.shape());
  for (size_t i = 0; i < y.size(); ++i) y.host()[i] = factor * x.value().host()[i];
  return ctx.record("scaled", y, [=](const Tensor& dy, Grads& grads) {
    const Tensor dx = grads.empty(x);
    for (size_t i = 0; i < dx.size(); ++i) dx.host()[i] = factor * dy.host()[i];
    grads.add(x, dx);
  });
}

// y = a + b: hands its dy to both.
Var sum(Context& ctx, const Var& a, const Var& b) {
  const Tensor y = ctx.empty(a.shape());
  for (size_t i = 0; i < y.size(); ++i) y.host()[i] = a.value().host()[i] + b.value().host()[i];
  return ctx.record("sum", y, [=](const Tensor& dy, Grads& grads) {
    grads.add(a, dy);
    grads.add(b, dy);
  });
}

class ContextTest : public ::testing::Test {
 protected:
  Pool pool{1};
  Context ctx{Mode::kTraining, pool};
  Tensor x = Tensor::of({2}, std::array{1.0f, 2.0f});
};

TEST_F(ContextTest, ChainsGradients) {
  ctx.backward(scaled(ctx, scaled(ctx, ctx.leaf(x), 3), 5));
  EXPECT_THAT(ctx.gradient(x).host(), ElementsAre(15, 15));
}

TEST_F(ContextTest, AddsTheGradientsOfSeveralReadersAndLeavesSharedBuffersAlone) {
  const Var v = ctx.leaf(x);
  const Var twice = sum(ctx, v, v);  // one dy, added to itself
  ctx.backward(sum(ctx, twice, scaled(ctx, v, 10)));
  EXPECT_THAT(ctx.gradient(x).host(), ElementsAre(12, 12));
}

TEST_F(ContextTest, TheSameMemoryIsOneVariable) {
  ctx.backward(sum(ctx, scaled(ctx, ctx.leaf(x), 2), scaled(ctx, ctx.leaf(x), 3)));
  EXPECT_THAT(ctx.gradient(x).host(), ElementsAre(5, 5));
}

TEST_F(ContextTest, BoundGradientsAccumulateOverSteps) {
  const Tensor gradient = Tensor::of({2}, std::array{100.0f, 200.0f});
  ctx.bind(x, gradient);
  for (uint64_t step = 0; step < 2; ++step) {
    ctx.clear(step);
    ctx.backward(scaled(ctx, ctx.leaf(x), 3), 2.0f);
  }
  EXPECT_THAT(gradient.host(), ElementsAre(112, 212));
  EXPECT_EQ(ctx.gradient(x).data(), gradient.data());
}

TEST_F(ContextTest, UnreachedOperationsAreSkippedAndUnreachedLeavesHaveNoGradient) {
  const Tensor other = x.clone();
  const Var kept = scaled(ctx, ctx.leaf(x), 2);
  ctx.record("unreached", other, [](const Tensor&, Grads&) { FAIL(); });
  ctx.leaf(other);
  ctx.backward(kept);
  EXPECT_TRUE(ctx.gradient(other).empty());
}

TEST_F(ContextTest, SeveralOutputsGetTheirOwnGradientsAndEmptyOnesWhenUnused) {
  const Var v = ctx.leaf(x);
  const auto [a, b] = ctx.record("two", std::array{x.clone(), x.clone()},
                                 [=](std::span<const Tensor> dys, Grads& grads) {
                                   EXPECT_FALSE(dys[0].empty());
                                   EXPECT_TRUE(dys[1].empty());
                                   grads.add(v, dys[0]);
                                 });
  ctx.backward(scaled(ctx, a, 7));
  EXPECT_THAT(ctx.gradient(x).host(), ElementsAre(7, 7));
}

TEST_F(ContextTest, InferenceRecordsNothing) {
  Context inference(Mode::kInference, pool);
  const Var y = scaled(inference, inference.leaf(x), 3);
  EXPECT_TRUE(y.constant());
  EXPECT_THROW(inference.backward(y), InvalidArgument);
}

TEST_F(ContextTest, DropoutKeysDifferBySiteUpdateAndSeed) {
  Context other_seed(Mode::kTraining, pool, 1);
  const uint64_t key = ctx.dropout_key(5);
  EXPECT_NE(key, ctx.dropout_key(6));
  EXPECT_NE(key, other_seed.dropout_key(5));
  ctx.clear(1);
  EXPECT_NE(key, ctx.dropout_key(5));
}

TEST_F(ContextTest, DeferredChangesWaitForCommitAndANewStepForgetsThem) {
  std::string done;
  ctx.defer([&] { done += "a"; });
  ctx.clear(1);
  ctx.defer([&] { done += "b"; });
  ctx.clear();
  ctx.defer([&] { done += "c"; });
  EXPECT_EQ(done, "");
  ctx.commit();
  ctx.commit();
  EXPECT_EQ(done, "bc");
}

TEST_F(ContextTest, AProfilerSeesEachOperationForwardAndBackward) {
  std::vector<std::string> seen;
  ctx.profile([&](const char* op, Context::Phase phase, std::span<const Tensor> values) {
    const bool forward = phase == Context::Phase::kForward;
    seen.push_back(concat(op, forward ? " value " : " gradient ", values[0].host()[0]));
  });
  const Var y = scaled(ctx, ctx.leaf(x), 3);  // of 1 and 2
  ctx.record("unreached", x.clone(), [](const Tensor&, Grads&) {});
  ctx.backward(y, 5);
  EXPECT_THAT(seen, ElementsAre("scaled value 3", "unreached value 1", "scaled gradient 5"));
}

TEST_F(ContextTest, CheckedModeNamesTheFirstOperationThatIsNotFinite) {
  ctx.set_checked(true);
  scaled(ctx, scaled(ctx, ctx.leaf(x), std::numeric_limits<float>::infinity()), 2);
  EXPECT_EQ(ctx.first_non_finite(), "scaled (value)");
}

TEST_F(ContextTest, ASteadyStepAsksTheSystemForNothing) {
  MemoryPool memory;
  Context own(Mode::kTraining, pool, 0, 0, memory);
  size_t after_first = 0;
  for (uint64_t step = 0; step < 5; ++step) {
    own.clear(step);
    own.backward(sum(own, scaled(own, own.leaf(x), 2), scaled(own, own.leaf(x), 3)));
    if (step == 0) after_first = memory.stats().system_allocations;
  }
  EXPECT_EQ(memory.stats().system_allocations, after_first);
}

TEST_F(ContextTest, ManyLeavesAreAllFound) {
  std::vector<Tensor> leaves;
  Var total = scaled(ctx, ctx.leaf(x), 1);
  for (int i = 0; i < 500; ++i) {
    leaves.push_back(x.clone());
    total = sum(ctx, total, scaled(ctx, ctx.leaf(leaves.back()), static_cast<float>(i)));
  }
  ctx.backward(total);
  for (int i = 0; i < 500; ++i) {
    EXPECT_EQ(ctx.gradient(leaves[static_cast<size_t>(i)]).host()[1], static_cast<float>(i));
  }
}

}  // namespace
}  // namespace rapt

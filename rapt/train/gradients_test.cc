#include "rapt/train/gradients.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace rapt {
namespace {

// f(w) = sum of c w, so that the gradient of a shard is its c.
Var scaled(Context& ctx, const Tensor& w, float c) {
  const Var x = ctx.leaf(w);
  return ctx.record("scaled", ctx.empty({}), [x, c](const Tensor& dy, Grads& grads) {
    for (float& g : grads.of(x).span()) g += c * dy.span()[0];
  });
}

class GradientSumTest : public testing::Test {
 protected:
  GradientSumTest() {
    const Scope scope(set_);
    scope.parameter("a", {3}, Init::zeros());
    scope.weight("b", 5, 7, Init::zeros());
  }
  float run(GradientSum& sum, Pool& pool, const std::vector<float>& c) {
    Context ctx(Mode::kTraining, pool);
    sum.run(ctx, c.size(), [&](size_t s) {
      ctx.backward(scaled(ctx, set_[0].value, c[s]));
      ctx.backward(scaled(ctx, set_[1].value, c[s]));
    });
    const float first = sum.total()[0].span()[0];
    for (size_t i = 0; i < 2; ++i) {
      for (const float g : sum.total()[i].span()) EXPECT_EQ(g, first);
    }
    sum.clear(pool);
    return first;
  }
  ParameterSet set_{1};
};

// Numbers whose float sum depends on the order.
const std::vector<float> kParts = {1e8f, 3.14f, -1e8f, 2.71f, 1e-3f, 5e7f, -5e7f, 0.1f, 77, 1e9f};

TEST_F(GradientSumTest, AddsByAPairwiseTree) {
  Pool pool(1);
  GradientSum sum(set_);
  const auto& p = kParts;
  EXPECT_EQ(run(sum, pool, {p[0]}), p[0]);
  EXPECT_EQ(run(sum, pool, {p[0], p[1], p[2]}), (p[0] + p[1]) + p[2]);
  EXPECT_EQ(run(sum, pool, {p[0], p[1], p[2], p[3], p[4]}), ((p[0] + p[1]) + (p[2] + p[3])) + p[4]);
  EXPECT_EQ(run(sum, pool, {p[0], p[1], p[2], p[3], p[4], p[5], p[6]}),
            ((p[0] + p[1]) + (p[2] + p[3])) + ((p[4] + p[5]) + p[6]));
}

TEST_F(GradientSumTest, ThreadsAndEarlierUpdatesChangeNoBit) {
  Pool one(1), three(3);
  GradientSum sum(set_), other(set_);
  const float expected = run(sum, one, kParts);
  run(other, three, {1, 2, 3});
  EXPECT_EQ(run(other, three, kParts), expected);
}

TEST_F(GradientSumTest, BlocksAreAlignedAndApart) {
  const ParameterBlock block(set_);
  EXPECT_EQ(block.all().size(), 16u + 48u);
  EXPECT_EQ(block[1].shape(), (Shape{5, 7}));
  EXPECT_EQ(block[1].data(), block.all().data() + 16);
}

}  // namespace
}  // namespace rapt

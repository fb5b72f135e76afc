#include "rapt/autograd/watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <vector>

namespace rapt {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

// y = 3 a + 5 b
Var weighted_sum(Context& ctx, const Var& a, const Var& b) {
  const Tensor y = ctx.empty(a.shape());
  for (size_t i = 0; i < y.size(); ++i)
    y.host()[i] = 3 * a.value().host()[i] + 5 * b.value().host()[i];
  return ctx.record("weighted_sum", y, [=](const Tensor& dy, Grads& grads) {
    const Tensor da = grads.empty(a), db = grads.empty(b);
    for (size_t i = 0; i < dy.size(); ++i) {
      da.host()[i] = 3 * dy.host()[i];
      db.host()[i] = 5 * dy.host()[i];
    }
    grads.add(a, da);
    grads.add(b, db);
  });
}

class Watched : public ::testing::Test {
 protected:
  std::map<std::string, std::vector<float>> seen;
  Pool pool{1};
  const Tensor x = Tensor::of({2}, std::array{1.0f, 2.0f});
};

TEST_F(Watched, ShowsTheValueAndThePartOfTheGradientThatPassesHere) {
  Context ctx(Mode::kTraining, pool);
  ctx.observe([this](std::string_view name, const Tensor& value) {
    seen[std::string(name)] = {value.host().begin(), value.host().end()};
  });
  const Var all = watched(ctx, "x", ctx.leaf(x));
  ctx.backward(weighted_sum(ctx, all, watched(ctx, "branch", all)));
  EXPECT_THAT(seen,
              UnorderedElementsAre(Pair("x", ElementsAre(1, 2)), Pair("branch", ElementsAre(1, 2)),
                                   Pair("branch.gradient", ElementsAre(5, 5)),
                                   Pair("x.gradient", ElementsAre(8, 8))));
  EXPECT_THAT(ctx.gradient(x).host(), ElementsAre(8, 8));
}

TEST_F(Watched, InInferenceShowsTheValueAlone) {
  Context ctx(Mode::kInference, pool);
  ctx.observe([this](std::string_view name, const Tensor&) { seen[std::string(name)]; });
  EXPECT_TRUE(watched(ctx, "x", x).constant());
  EXPECT_EQ(seen.size(), 1u);
}

TEST_F(Watched, WithoutAnObserverIsTheVariableItself) {
  Context ctx(Mode::kTraining, pool);
  const Var v = ctx.leaf(x);
  EXPECT_EQ(watched(ctx, "x", v).node(), v.node());
}

}  // namespace
}  // namespace rapt

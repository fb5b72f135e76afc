#include "rapt/nn/scope.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "rapt/base/random.h"
#include "rapt/testing/expect.h"

namespace rapt {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::ThrowsMessage;

TEST(Scope, NamesAreJoinedByDots) {
  ParameterSet set(1);
  const Scope layer = Scope(set) / "encoder" / "layers" / "0";
  EXPECT_EQ(layer.name(), "encoder.layers.0");
  const Weight& w = (layer / "linear1").weight("weight", 6, 4, Init::xavier());
  const Parameter& b = (layer / "linear1").parameter("bias", {6}, Init::zeros());
  EXPECT_EQ(w.name, "encoder.layers.0.linear1.weight");
  EXPECT_EQ(w.value.shape(), (Shape{6, 4}));
  EXPECT_TRUE(w.decay);
  EXPECT_EQ(b.name, "encoder.layers.0.linear1.bias");
  EXPECT_FALSE(b.decay);
  ASSERT_EQ(set.size(), 2u);
  EXPECT_EQ(&set[0], &w);
  EXPECT_EQ(&set[1], &b);
  EXPECT_THAT(set.weights(), ElementsAre(&w));
  EXPECT_EQ(set.elements(), 30u);
  EXPECT_EQ(set.find("encoder.layers.0.linear1.bias"), &b);
  EXPECT_EQ(set.find("linear1.bias"), nullptr);
}

TEST(Scope, ANameIsGivenOnce) {
  ParameterSet set(1);
  const Scope root(set);
  root.parameter("a", {2}, Init::ones());
  EXPECT_THAT([&] { root.weight("a", 2, 2, Init::xavier()); },
              ThrowsMessage<InvalidArgument>(HasSubstr("parameter a is declared twice")));
  EXPECT_EQ(root.dropout("dropout", 0.1).site, site_of("dropout"));
  EXPECT_THAT([&] { root.dropout("dropout", 0.1); },
              ThrowsMessage<InvalidArgument>(HasSubstr("draw the same random bits")));
}

TEST(Scope, BuffersAreStoredButAreNoParameters) {
  ParameterSet set(1);
  const Scope norm = Scope(set) / "norm";
  const Parameter& var = norm.buffer("running_var", {3}, Init::ones());
  const Parameter& gamma = norm.parameter("weight", {3}, Init::ones());
  EXPECT_EQ(var.name, "norm.running_var");
  for (const float v : var.value.span()) EXPECT_EQ(v, 1.0f);
  EXPECT_EQ(set.size(), 1u);
  EXPECT_EQ(set.elements(), 3u);
  EXPECT_THAT(set.stored(), ElementsAre(&gamma, &var));
  EXPECT_EQ(set.find("norm.running_var"), &var);
  EXPECT_THAT([&] { norm.parameter("running_var", {3}, Init::ones()); },
              ThrowsMessage<InvalidArgument>(HasSubstr("declared twice")));
}

TEST(Scope, TiedNamesFindTheFirst) {
  ParameterSet set(1);
  const Scope root(set);
  Weight& w = (root / "source_embedding").weight("weight", 5, 2, Init::normal(1));
  (root / "output").tie("weight", w);
  EXPECT_EQ(set.size(), 1u);
  EXPECT_EQ(set.elements(), 10u);
  EXPECT_EQ(set.find("output.weight"), &w);
  EXPECT_THAT(set.ties(), ElementsAre(Pair("output.weight", "source_embedding.weight")));
}

TEST(Scope, ValuesDependOnNameAndSeedAlone) {
  const auto value = [](uint64_t seed, const char* name, bool alone) {
    ParameterSet set(seed);
    const Scope root(set);
    if (!alone) root.weight("before", 7, 3, Init::xavier());
    return root.weight(name, 4, 6, Init::xavier()).value;
  };
  const Tensor a = value(1, "a", true);
  testing::expect_same_bits(a, value(1, "a", false));
  EXPECT_FALSE(std::ranges::equal(a.span(), value(2, "a", true).span()));
  EXPECT_FALSE(std::ranges::equal(a.span(), value(1, "b", true).span()));
}

TEST(Scope, FirstValuesAreOfTheirKind) {
  ParameterSet set(3);
  const Scope root(set);
  // torch.nn.init.xavier_uniform_: within sqrt(6 / (fan_in + fan_out)), here sqrt(6 / 400).
  const Tensor xavier = root.weight("xavier", 300, 100, Init::xavier()).value;
  const double bound = std::sqrt(6.0 / 400);
  double largest = 0, sum = 0, squares = 0;
  for (const double v : xavier.span()) {
    largest = std::max(largest, std::abs(v));
    sum += v;
    squares += v * v;
  }
  EXPECT_LE(largest, bound);
  EXPECT_GT(largest, 0.999 * bound);
  EXPECT_NEAR(sum / 30000, 0, 0.002);
  EXPECT_NEAR(squares / 30000, bound * bound / 3, 0.0001);

  const Tensor normal = root.weight("normal", 300, 100, Init::normal(0.25f)).value;
  sum = squares = 0;
  for (const double v : normal.span()) {
    sum += v;
    squares += v * v;
  }
  EXPECT_NEAR(sum / 30000, 0, 0.006);
  EXPECT_NEAR(squares / 30000, 0.0625, 0.002);
  for (const float v : root.parameter("ones", {9}, Init::ones()).value.span()) EXPECT_EQ(v, 1.0f);
  for (const float v : root.parameter("zeros", {9}, Init::zeros()).value.span()) EXPECT_EQ(v, 0.0f);
}

TEST(Scope, OneDistributionMayReplaceThatOfAllMatrices) {
  ParameterSet set(Initializer{.seed = 5, .matrices = Init::normal(0.5f)});
  const Scope root(set);
  const Tensor w = root.weight("w", 8, 4, Init::xavier()).value;
  Tensor expected = Tensor::zeros({8, 4});
  fill_normal(expected.span(), op_key(5, Stream::kInit, site_of("w"), 0), 0, 0.5);
  testing::expect_same_bits(w, expected);
  for (const float v : root.parameter("b", {4}, Init::zeros()).value.span()) EXPECT_EQ(v, 0.0f);
}

TEST(Scope, AGainMultipliesTheRowsFromAGivenOneOn) {
  for (const bool replaced : {false, true}) {
    Initializer initializer{.seed = 5};
    if (replaced) initializer.matrices = Init::normal(0.5f);
    ParameterSet plain(initializer), scaled(initializer);
    const Tensor before = Scope(plain).weight("w", 6, 4, Init::xavier()).value;
    const Tensor after = Scope(scaled).weight("w", 6, 4, Init::xavier(0.5f, 4)).value;
    for (size_t i = 0; i < before.size(); ++i) {
      EXPECT_EQ(after.host()[i], (i < 16 ? 1.0f : 0.5f) * before.host()[i]);
    }
  }
}

TEST(Scope, WithoutValuesThereAreNamesAndShapesAndNoMemory) {
  const size_t before = MemoryPool::process().stats().bytes_in_use;
  ParameterSet set(Initializer::none());
  const Weight& w = Scope(set).weight("w", size_t{1} << 20, size_t{1} << 20, Init::xavier());
  EXPECT_EQ(w.value.shape(), (Shape{size_t{1} << 20, size_t{1} << 20}));
  EXPECT_TRUE(w.value.empty());
  EXPECT_EQ(MemoryPool::process().stats().bytes_in_use, before);
}

}  // namespace
}  // namespace rapt

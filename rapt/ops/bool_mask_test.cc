#include "rapt/ops/bool_mask.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <type_traits>

#include "rapt/ops/attention.h"
#include "rapt/testing/expect.h"

namespace rapt {
namespace {

using ops::Band;
using ops::DropMask;
using ops::KeepMask;
using ::testing::ThrowsMessage;
using namespace testing;

constexpr float kInf = std::numeric_limits<float>::infinity();

// A swap does not compile, and bare values are of neither kind.
static_assert(!std::is_constructible_v<KeepMask, DropMask>);
static_assert(!std::is_constructible_v<DropMask, KeepMask>);
static_assert(!std::is_assignable_v<KeepMask&, DropMask>);
static_assert(!std::is_convertible_v<std::vector<bool>, KeepMask>);
static_assert(!std::is_convertible_v<std::vector<bool>, DropMask>);
static_assert(std::is_same_v<decltype(~std::declval<KeepMask>()), DropMask>);

TEST(BoolMask, TheTypeSaysWhatTrueMeans) {
  const std::vector<bool> values = {true, false, false, false, true, true};
  const KeepMask keep(2, 3, values);
  const DropMask drop(2, 3, values);
  const Tensor hides = Tensor::of({2, 3}, std::vector<float>{0, -kInf, -kInf, -kInf, 0, 0});
  const Tensor shows = Tensor::of({2, 3}, std::vector<float>{-kInf, 0, 0, 0, -kInf, -kInf});
  expect_same_bits(keep.bias(), hides);
  expect_same_bits(drop.bias(), shows);
  expect_same_bits((~keep).bias(), hides);  // another reading, the same mask
  EXPECT_TRUE(keep(0, 0) && keep.keeps(0, 0));
  EXPECT_TRUE(drop(0, 0) && !drop.keeps(0, 0));
  EXPECT_FALSE((~keep)(0, 0));
}

TEST(BoolMask, NamesTheNumberOfValuesThatItWants) {
  EXPECT_THAT(
      [] {
        KeepMask(2, 3, {true, false});
      },
      ThrowsMessage<InvalidArgument>("mask: 2 values for 2 queries and 3 keys, expected 6"));
}

TEST(BoolMask, CornersOfCausalMasksAreAsNamed) {
  const auto seen = [](Band band) {
    const KeepMask mask = ops::keep_mask(band, 2, 4);
    std::string text;
    for (size_t i = 0; i < mask.queries(); ++i) {
      for (size_t j = 0; j < mask.keys(); ++j) text += mask(i, j) ? '1' : '.';
      text += '/';
    }
    return text;
  };
  EXPECT_EQ(seen(Band::none()), "1111/1111/");
  EXPECT_EQ(seen(Band::causal_top_left()), "1.../11../");
  EXPECT_EQ(seen(Band::causal_bottom_right()), "111./1111/");
  EXPECT_EQ(seen(Band::window(0, 1)), "11../.11./");
  EXPECT_EQ(seen(Band::window_bottom_right(1, 0)), ".11./..11/");
  EXPECT_EQ(seen(Band::none().within(1)), "11../111./");
  EXPECT_EQ(seen(Band::causal_top_left().within(0)), "1.../.1../");
  EXPECT_EQ(seen(Band::causal_bottom_right().within(1)), ".11./..11/");
}

// Row r of x is zero, every element of it.
bool is_zero(const Tensor& x, size_t r) {
  return std::ranges::all_of(x.matrix().row(r), [](float v) { return v == 0; });
}

// One mask in three ways: as a band, as values that keep and as values that drop. What no one sees
// has no gradient, who sees nothing gets zeros and gives none.
TEST(BoolMask, AttentionHidesWhatItHides) {
  // Key row r stands at position 10 + r: queries 0 … 9 come before all keys, keys 60 … after all
  // queries.
  constexpr uint32_t kQueries = 70, kKeys = 150, kFirst = 10;
  const Lengths queries = Lengths::single(kQueries), keys({{0, kKeys, kFirst}});
  const Tensor q = random_tensor({kQueries, 16}, 1), k = random_tensor({kKeys, 16}, 2),
               v = random_tensor({kKeys, 16}, 3), dy = random_tensor({kQueries, 16}, 4);
  struct Result {
    Tensor y, dq, dk, dv;
  };
  const auto run = [&](const Band& band, const Tensor* bias) {
    Context ctx(Mode::kEvaluation, test_pool());
    const ops::AttentionArgs args{
        .heads = 2, .kv_heads = 2, .dim = 8, .dim_v = 8, .scale = 0.5f, .band = band};
    const Var added = bias == nullptr ? Var() : Var(*bias);
    const Var y = ops::attention(ctx, {ctx.leaf(q)}, {ctx.leaf(k)}, {ctx.leaf(v)}, queries, keys,
                                 args, bias == nullptr ? nullptr : &added);
    ctx.backward(y, dy);
    return Result{y.value(), ctx.gradient(q), ctx.gradient(k), ctx.gradient(v)};
  };
  const Band causal = Band::causal_top_left();
  const KeepMask keep = ops::keep_mask(causal, kQueries, kFirst + kKeys);
  const DropMask drop = ~keep;
  for_each_simd_target([&] {
    const Result expected = run(causal, nullptr);
    for (const Tensor& bias : {keep.bias(), drop.bias()}) {
      const Result r = run(Band::none(), &bias);
      expect_near(r.y, to_array(expected.y), 1e-6);
      expect_near(r.dq, to_array(expected.dq), 1e-5);
      expect_near(r.dk, to_array(expected.dk), 1e-5);
      expect_near(r.dv, to_array(expected.dv), 1e-5);
      for (size_t i = 0; i < kFirst; ++i) EXPECT_TRUE(is_zero(r.y, i) && is_zero(r.dq, i)) << i;
      for (size_t i = kFirst; i < kQueries; ++i) EXPECT_FALSE(is_zero(r.y, i)) << i;
      for (size_t j = 0; j < kKeys; ++j) {
        const bool seen = kFirst + j < kQueries;
        EXPECT_EQ(is_zero(r.dv, j), !seen) << j;
        EXPECT_TRUE(seen || is_zero(r.dk, j)) << j;
      }
    }
  });
}

// The kernel of decoding: a row of one query, keys in the lanes.
TEST(BoolMask, ACachedRowThatSeesNothingIsZero) {
  constexpr size_t kKeys = 200;
  const Tensor q = random_tensor({1, 8}, 1), kv = random_tensor({kKeys, 16}, 2);
  const ops::CachedKeys keys{
      kv.matrix().slice_cols(0, 8), kv.matrix().slice_cols(8, 16), {}, kKeys};
  const ops::AttentionArgs args{.dim = 8, .dim_v = 8};
  const auto run = [&](std::vector<bool> drops, const Tensor* sink) {
    Context ctx(Mode::kInference, test_pool());
    const Tensor bias = DropMask(1, kKeys, std::move(drops)).bias();
    const Lengths row = Lengths::single(1);
    const Tensor weights =
        ops::attention_weights_cached(ctx, {q}, row, {&keys, 1}, args, &bias, sink);
    const double sum = std::accumulate(weights.span().begin(), weights.span().end(), 0.0);
    return std::pair{ops::attention_cached(ctx, {q}, row, {&keys, 1}, args, &bias, sink), sum};
  };
  const Tensor sink = Tensor::zeros({1});
  for_each_simd_target([&] {
    for (const Tensor* s : {static_cast<const Tensor*>(nullptr), &sink}) {
      const auto [y, sum] = run(std::vector<bool>(kKeys, true), s);
      EXPECT_TRUE(is_zero(y, 0));
      EXPECT_EQ(sum, 0);
    }
    std::vector<bool> one(kKeys, true);
    one[150] = false;
    const auto [y, sum] = run(one, nullptr);
    expect_near(y, to_array(Tensor::of({1, 8}, kv.matrix().row(150).subspan(8))), 1e-6);
    EXPECT_NEAR(sum, 1, 1e-6);
  });
}

}  // namespace
}  // namespace rapt

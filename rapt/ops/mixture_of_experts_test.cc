#include "rapt/ops/mixture_of_experts.h"

#include <gmock/gmock.h>

#include <limits>

#include "rapt/kernels/mixture_of_experts_ref.h"
#include "rapt/ops/gather_rows.h"
#include "rapt/ops/softmax.h"
#include "rapt/testing/everywhere.h"

namespace rapt {
namespace {

using ::testing::ElementsAre;
using ::testing::ThrowsMessage;
using namespace testing;

constexpr size_t kExperts = 5, kTop = 2, kRows = 70;

auto top_k(size_t k) {
  return [=](Context& ctx, const Var& x) { return ops::top_k(ctx, x, k).values; };
}
auto top_k_ref(size_t k) {
  return by_row([=]<class T>(Row<T> x) {
    std::vector<T> values;
    for (const size_t c : kernels::top_k_ref(x, k)) values.push_back(x[c]);
    return values;
  });
}

TEST(TopK, MatchesTheFormulaAndItsDerivative) {
  for (const size_t k : {1, 2, 5}) {
    expect_values(top_k(k), top_k_ref(k), {{kRows, kExperts}}, 0);
    expect_gradient(top_k(k), top_k_ref(k), {{kRows, kExperts}}, 1e-6);
  }
}

std::vector<int32_t> chosen_of(const std::vector<float>& scores, size_t k) {
  Context ctx(Mode::kInference, test_pool());
  const ops::TopK top = ops::top_k(ctx, Var(Tensor::of({1, scores.size()}, scores)), k);
  return {top.index.span().begin(), top.index.span().end()};
}

TEST(TopK, TakesTheLowerIndexOfEqualScores) {
  EXPECT_THAT(chosen_of({1, 3, 2, 3, 3}, 2), ElementsAre(1, 3));
  EXPECT_THAT(chosen_of({1, 3, 2, 3, 3}, 4), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(chosen_of({0, 0, 0}, 1), ElementsAre(0));
}

TEST(TopK, NaNIsSeen) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_THAT(chosen_of({1, infinity, nan, 3}, 1), ElementsAre(2));
  EXPECT_THAT(chosen_of({nan, -infinity, nan, 3}, 2), ElementsAre(0, 2));
}

// Rows that go through the experts that their scores choose; an expert is a matrix of rows here, of
// which each visitor takes the one with its own number.
const auto mixture = [](Context& ctx, const Var& scores, const Var& x) {
  const ops::TopK top = ops::top_k(ctx, scores, kTop);
  const ops::Dispatch dispatch(top, kExperts);
  std::vector<Var> outputs;
  for (size_t e = 0; e < kExperts; ++e) {
    outputs.push_back(ops::gather_rows(ctx, x, dispatch.rows(e)));
  }
  return ops::combine(ctx, outputs, dispatch, top.values);
};
const auto mixture_ref = []<class T>(const Array<T>& scores, const Array<T>& x) {
  Array<T> y(x.shape);
  for (size_t r = 0; r < x.rows(); ++r) {
    for (const size_t e : kernels::top_k_ref(scores.row(r), kTop)) {
      for (size_t c = 0; c < x.cols(); ++c) y(r, c) += scores(r, e) * x(r, c);
    }
  }
  return y;
};

TEST(Combine, MatchesTheFormulaAndItsDerivative) {
  for_each_simd_target([] {
    for (const size_t d : {1, 8, 17, 100}) {
      expect_values(mixture, mixture_ref, {{kRows, kExperts}, {kRows, d}}, 1e-6);
      expect_gradient(mixture, mixture_ref, {{kRows, kExperts}, {kRows, d}}, 1e-5);
    }
  });
}

TEST(Combine, SameBitsForThreadsAndTargets) {
  expect_same_bits_everywhere(mixture, {{kRows, kExperts}, {kRows, 77}});
}

// The experts that a row takes are added in order of their index.
TEST(Combine, AddsInOrderOfExperts) {
  Context ctx(Mode::kInference, test_pool());
  const ops::TopK top = ops::top_k(ctx, Var(Tensor::of({1, 3}, std::vector<float>{3, 1, 2})), 3);
  const ops::Dispatch dispatch(top, 3);
  const std::vector<float> values = {1e8f, 1.0f, -1e8f};
  std::vector<Var> outputs;
  for (const float v : values) outputs.emplace_back(Tensor::of({1, 1}, std::array{v}));
  const Var weights = Tensor::of({1, 3}, std::array{1.0f, 1.0f, 1.0f});
  EXPECT_EQ(ops::combine(ctx, outputs, dispatch, weights).value().host()[0], 0.0f);
}

TEST(Dispatch, CountsTheShareOfEachExpert) {
  Context ctx(Mode::kInference, test_pool());
  const std::vector<float> scores = {3, 2, 1, 0, /**/ 3, 0, 2, 1, /**/ 1, 3, 2, 0};
  const ops::TopK top = ops::top_k(ctx, Var(Tensor::of({3, 4}, scores)), 2);
  const ops::Dispatch dispatch(top, 4);
  EXPECT_THAT(dispatch.rows(0), ElementsAre(0, 1));
  EXPECT_THAT(dispatch.rows(1), ElementsAre(0, 2));
  EXPECT_THAT(dispatch.rows(2), ElementsAre(1, 2));
  EXPECT_TRUE(dispatch.rows(3).empty());
  const float third = static_cast<float>(1.0 / 3);
  EXPECT_THAT(dispatch.load(ctx).host(), ElementsAre(third, third, third, 0.0f));
}

const std::vector<float> kLoad = {0.5f, 0.25f, 0.125f, 0.125f, 0.0f};
const auto balance = [](Context& ctx, const Var& p) {
  return ops::expert_balance(ctx, p, Tensor::of({kExperts}, kLoad));
};
const auto balance_ref = []<class T>(const Array<T>& p) {
  const std::vector<double> load(kLoad.begin(), kLoad.end());
  std::vector<T> mean(kExperts, T(0));
  for (size_t r = 0; r < p.rows(); ++r) {
    for (size_t c = 0; c < kExperts; ++c) {
      mean[c] += p(r, c) / T(static_cast<double>(p.rows()));
    }
  }
  Array<T> y(Shape{});
  y.data[0] = kernels::expert_balance_ref(Row<T>(mean), Row<double>(load));
  return y;
};

TEST(ExpertBalance, MatchesTheFormulaAndItsDerivative) {
  for (const size_t rows : {size_t{1}, kRows, size_t{200}}) {
    expect_values(balance, balance_ref, {{rows, kExperts}}, 1e-6);
    expect_gradient(balance, balance_ref, {{rows, kExperts}}, 1e-5);
  }
}

TEST(ExpertBalance, SameBitsForThreadsAndTargets) {
  expect_same_bits_everywhere(balance, {{300, kExperts}});
}

TEST(ExpertBalance, IsOneWhereAllIsEvenAndNWhereOneTakesAll) {
  Context ctx(Mode::kInference, test_pool());
  const auto of = [&](const std::vector<float>& p, const std::vector<float>& load) {
    return ops::expert_balance(ctx, Var(Tensor::of({1, 4}, p)), Tensor::of({4}, load))
        .value()
        .host()[0];
  };
  EXPECT_EQ(of({0.25f, 0.25f, 0.25f, 0.25f}, {0.25f, 0.25f, 0.25f, 0.25f}), 1.0f);
  EXPECT_EQ(of({0, 0, 1, 0}, {0, 0, 1, 0}), 4.0f);
}

TEST(MixtureOfExperts, RejectsWhatDoesNotFit) {
  Context ctx(Mode::kInference, test_pool());
  const Var scores(Tensor::zeros({3, 4}));
  EXPECT_THAT([&] { ops::top_k(ctx, scores, 5); },
              ThrowsMessage<InvalidArgument>("top_k: k is 5, x is [3, 4]"));
  EXPECT_THAT([&] { ops::top_k(ctx, scores, 0); },
              ThrowsMessage<InvalidArgument>("top_k: k is 0, x is [3, 4]"));
  const ops::TopK top = ops::top_k(ctx, scores, 2);  // all take experts 0 and 1
  const ops::Dispatch dispatch(top, 4);
  const Var three(Tensor::zeros({3, 7})), two(Tensor::zeros({2, 7}));
  EXPECT_THAT(
      [&] {
        ops::combine(ctx, std::array{three, two, Var(), Var()}, dispatch, top.values);
      },
      ThrowsMessage<InvalidArgument>("combine: output 1 is [2, 7], expected [3, 7]"));
  EXPECT_THAT(
      [&] {
        ops::combine(ctx, std::array{three, three}, dispatch, top.values);
      },
      ThrowsMessage<InvalidArgument>("combine: outputs of 2 experts, expected 4"));
  EXPECT_THAT(
      [&] {
        ops::combine(ctx, std::array{three, three, Var(), Var()}, dispatch, scores);
      },
      ThrowsMessage<InvalidArgument>("combine: weights are [3, 4], expected 2 for each of 3 rows"));
  EXPECT_THAT([&] { ops::expert_balance(ctx, scores, Tensor::zeros({3})); },
              ThrowsMessage<InvalidArgument>("expert_balance: load is [3], expected [4]"));
}

}  // namespace
}  // namespace rapt

#include "rapt/ops/batch_norm.h"

#include <gmock/gmock.h>

#include <limits>

#include "rapt/kernels/batch_norm_ref.h"
#include "rapt/testing/everywhere.h"

namespace rapt {
namespace {

using ::testing::ThrowsMessage;
using namespace testing;

ops::RunningMoments moments(size_t d) {
  ops::RunningMoments m{random_tensor({d}, 7), random_tensor({d}, 8), Tensor::zeros({})};
  for (float& v : m.var.host()) v = v * v + 0.1f;
  return m;
}

constexpr double kEps = 1e-5;
constexpr auto batch_norm = [](Context& ctx, const Var& x, const Var& gamma, const Var& beta) {
  return ops::batch_norm(ctx, x, gamma, beta, moments(x.cols()), static_cast<float>(kEps));
};

// A reference of one column, f(column, number of the column, gamma, beta), as one of the matrix.
template <class F>
auto by_column(const F& f) {
  return [f]<class T>(const Array<T>& x, const Array<T>& gamma, const Array<T>& beta) {
    Array<T> y(x.shape);
    for (size_t c = 0; c < x.cols(); ++c) {
      std::vector<T> column;
      for (size_t r = 0; r < x.rows(); ++r) column.push_back(x(r, c));
      column = f(Row<T>(column), c, gamma.data[c], beta.data[c]);
      for (size_t r = 0; r < x.rows(); ++r) y(r, c) = column[r];
    }
    return y;
  };
}
constexpr auto training_ref = []<class T>(Row<T> column, size_t, T gamma, T beta) {
  return kernels::batch_norm_ref(column, kEps, gamma, beta);
};
constexpr auto evaluation_ref = [](size_t d) {
  return [m = moments(d)]<class T>(Row<T> column, size_t c, T gamma, T beta) {
    return kernels::normalize_column_ref(column, T(m.mean.host()[c]), T(m.var.host()[c]), kEps,
                                         gamma, beta);
  };
};

TEST(BatchNorm, TrainingMatchesTheFormulaAndItsDerivative) {
  for_each_simd_target([] {
    for (const size_t rows : {1, 2, 7, 64, 133}) {
      for (const size_t d : {1, 3, 17, 40}) {
        const std::array inputs{random_tensor({rows, d}, 0), random_tensor({d}, 1),
                                random_tensor({d}, 2)};
        Context ctx(Mode::kTraining, test_pool());
        const Var y = batch_norm(ctx, Var(inputs[0]), Var(inputs[1]), Var(inputs[2]));
        expect_near(
            y.value(),
            by_column(training_ref)(to_array(inputs[0]), to_array(inputs[1]), to_array(inputs[2])),
            1e-5);
        // Two rows: xhat is 1 or -1, whose derivative is 0 but for epsilon; sums of 1 / sigma cancel.
        expect_gradient_at(batch_norm, by_column(training_ref), inputs, 1e-4, Mode::kTraining);
      }
    }
  });
}

TEST(BatchNorm, EvaluationMatchesTheFormulaAndItsDerivative) {
  for_each_simd_target([] {
    for (const size_t d : {1, 17, 40}) {
      const auto reference = by_column(evaluation_ref(d));
      expect_values(batch_norm, reference, {{5, d}, {d}, {d}}, 1e-5);
      expect_gradient(batch_norm, reference, {{5, d}, {d}, {d}}, 1e-4);
      expect_gradient(batch_norm, reference, {{2 * kRowBlock + 5, d}, {d}, {d}}, 1e-4);
    }
  });
}

// E[x^2] - E[x]^2 would lose all digits here, and a chain of the rows as they are some of the mean's.
// What is left is the mean's rounding to float: 2.4e-4 at 4096, times gamma / sigma < 2.
TEST(BatchNorm, IsTwoPassAndItsSumsAreSmall) {
  for_each_simd_target([] {
    const Tensor x = random_tensor({64, 9}, 1), g = random_tensor({9}, 2);
    for (float& v : x.host()) v = 4096.0f + v;
    Context ctx(Mode::kTraining, test_pool());
    expect_near(batch_norm(ctx, Var(x), Var(g), Var(g)).value(),
                by_column(training_ref)(to_array(x), to_array(g), to_array(g)), 1e-3);
  });
}

TEST(BatchNorm, SameBitsForThreadsAndTargets) {
  for (const Mode mode : {Mode::kTraining, Mode::kEvaluation}) {
    expect_same_bits_everywhere(batch_norm, {{200, 77}, {77}, {77}}, mode);
  }
}

TEST(BatchNorm, RunningMomentsChangeByCommitAlone) {
  const ops::RunningMoments m = moments(3);
  const Tensor mean = m.mean.clone(), var = m.var.clone(), g = random_tensor({3}, 2);
  Context ctx(Mode::kTraining, test_pool(), 0, 1);
  const auto run = [&](const Tensor& x) { ops::batch_norm(ctx, Var(x), Var(g), Var(g), m, 1e-5f); };
  const auto expect_unchanged = [&] {
    expect_same_bits(m.mean, mean);
    expect_same_bits(m.var, var);
    EXPECT_EQ(m.batches.host()[0], 0);
  };
  run(random_tensor({5, 3}, 1));
  expect_unchanged();
  ctx.clear(2);  // a new step: that of the last one is forgotten
  ctx.commit();
  expect_unchanged();
  run(random_tensor({1, 3}, 1));  // a single row has no variance
  ctx.commit();
  expect_unchanged();

  const Tensor batches[] = {random_tensor({5, 3}, 1), random_tensor({70, 3}, 2)};
  for (const Tensor& x : batches) {
    ctx.clear();  // the next shard of the same step
    run(x);
  }
  ctx.commit();
  EXPECT_EQ(m.batches.host()[0], 2);
  for (size_t c = 0; c < 3; ++c) {
    double expected_mean = mean.host()[c], expected_var = var.host()[c];
    for (const Tensor& x : batches) {
      double sum = 0, squares = 0;
      const auto n = static_cast<double>(x.rows());
      for (size_t r = 0; r < x.rows(); ++r) sum += x.matrix().row(r)[c];
      for (size_t r = 0; r < x.rows(); ++r) {
        squares += std::pow(x.matrix().row(r)[c] - sum / n, 2);
      }
      expected_mean = 0.9 * expected_mean + 0.1 * sum / n;
      expected_var = 0.9 * expected_var + 0.1 * squares / (n - 1);
    }
    EXPECT_NEAR(m.mean.host()[c], expected_mean, 1e-6);
    EXPECT_NEAR(m.var.host()[c], expected_var, 1e-6);
  }
  const Tensor after = m.mean.clone();
  ctx.commit();  // once only
  expect_same_bits(m.mean, after);
}

TEST(BatchNorm, ARowOfEvaluationDoesNotDependOnItsNeighboursAndOneOfTrainingDoes) {
  const Tensor x = random_tensor({130, 45}, 1), g = random_tensor({45}, 2);
  for (const Mode mode : {Mode::kInference, Mode::kEvaluation, Mode::kTraining}) {
    Context ctx(mode, test_pool());
    const Tensor y = batch_norm(ctx, Var(x), Var(g), Var(g)).value();
    const Var half(x.slice_rows(0, 65).clone());
    const Tensor other = batch_norm(ctx, half, Var(g), Var(g)).value();
    EXPECT_EQ(std::ranges::equal(other.span(), y.slice_rows(0, 65).span()),
              mode != Mode::kTraining);
  }
}

TEST(BatchNorm, NoRowsAreHarmless) {
  for (const Mode mode : {Mode::kInference, Mode::kTraining}) {
    Context ctx(mode, test_pool());
    const Tensor g = random_tensor({3}, 2);
    const ops::RunningMoments m = moments(3);
    EXPECT_EQ(ops::batch_norm(ctx, Var(Tensor::zeros({0, 3})), Var(g), Var(g), m, 1e-5f).size(),
              0u);
    ctx.commit();
    expect_same_bits(m.mean, moments(3).mean);
  }
}

TEST(BatchNorm, KeepsNaN) {
  for_each_simd_target([] {
    Context ctx(Mode::kTraining, test_pool());
    const Tensor x = random_tensor({4, 19}, 1), g = random_tensor({19}, 2);
    x.host()[18] = std::numeric_limits<float>::quiet_NaN();
    const Tensor y = batch_norm(ctx, Var(x), Var(g), Var(g)).value();
    for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y.host()[i]), i % 19 == 18) << i;
  });
}

TEST(BatchNorm, RejectsWhatDoesNotFit) {
  Context ctx(Mode::kTraining, test_pool());
  const auto call = [&](size_t gamma, size_t beta, size_t running) {
    return [&ctx, gamma, beta, running] {
      ops::batch_norm(ctx, Var(Tensor::zeros({2, 8})), Var(Tensor::zeros({gamma})),
                      Var(Tensor::zeros({beta})), moments(running), 1e-5f);
    };
  };
  EXPECT_THAT(call(7, 8, 8),
              ThrowsMessage<InvalidArgument>("batch_norm: gamma is [7], expected [8]"));
  EXPECT_THAT(call(8, 9, 8),
              ThrowsMessage<InvalidArgument>("batch_norm: beta is [9], expected [8]"));
  EXPECT_THAT(call(8, 8, 5), ThrowsMessage<InvalidArgument>(
                                 "batch_norm: running moments are [5] and [5], expected [8]"));
}

}  // namespace
}  // namespace rapt

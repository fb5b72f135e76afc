#include "rapt/ops/linear_cross_entropy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "rapt/kernels/cross_entropy_ref.h"
#include "rapt/testing/everywhere.h"
#include "rapt/testing/expect.h"

namespace rapt {
namespace {

using ops::LossOptions;
using ops::Smoothing;
using testing::Array;
using testing::expect_gradient;
using testing::expect_same_bits;
using testing::expect_values;
using testing::for_each_simd_target;
using testing::random_tensor;
using testing::test_pool;
using ::testing::ThrowsMessage;

const LossOptions kOptions[] = {{0, Smoothing::kPytorch},
                                {0.1f, Smoothing::kPytorch},
                                {0.1f, Smoothing::kFairseq},
                                {0.9f, Smoothing::kFairseq}};

std::vector<int32_t> targets_of(size_t rows, size_t classes) {
  std::vector<int32_t> targets(rows);
  for (size_t r = 0; r < rows; ++r) targets[r] = static_cast<int32_t>((r * 7 + 3) % classes);
  return targets;
}

// The objective from the formulas by their names, not from the weights e and u.
auto reference(const LossOptions& options) {
  return [options]<class T>(const Array<T>& x, const Array<T>& w, const auto&... bias) {
    const size_t classes = w.rows();
    const std::vector<int32_t> targets = targets_of(x.rows(), classes);
    const double eps = options.smoothing, v = static_cast<double>(classes);
    Array<T> total{Shape{}};
    for (size_t r = 0; r < x.rows(); ++r) {
      std::vector<T> z(classes, T(0));
      for (size_t j = 0; j < classes; ++j) {
        for (size_t k = 0; k < x.cols(); ++k) z[j] = z[j] + x(r, k) * w(j, k);
        ((z[j] = z[j] + bias.data[j]), ...);
      }
      for (size_t j = 0; j < classes; ++j) {
        const bool right = static_cast<int32_t>(j) == targets[r];
        const double q = options.formula == Smoothing::kPytorch ? eps / v + (right ? 1 - eps : 0)
                                                                : (right ? 1 - eps : eps / (v - 1));
        const T nll = kernels::cross_entropy_ref<T>(z, j, 0, 0).nll;
        total.data[0] = total.data[0] + T(q) * nll;
      }
    }
    return total;
  };
}
auto op(const LossOptions& options) {
  return [options](Context& ctx, const Var& x, const Var& w, const auto&... bias) {
    const Var* b = nullptr;
    ((b = &bias), ...);
    return ops::linear_cross_entropy(ctx, x, w, b, targets_of(x.rows(), w.rows()), options)
        .objective;
  };
}

TEST(LinearCrossEntropy, MatchesTheFormulaAndItsDerivative) {
  for_each_simd_target([] {
    for (const LossOptions& options : kOptions) {
      for (const size_t classes : {2, 16, 33, 150}) {
        for (const size_t in : {1, 9, 16}) {
          expect_values(op(options), reference(options), {{5, in}, {classes, in}, {classes}}, 1e-6);
          expect_values(op(options), reference(options), {{5, in}, {classes, in}}, 1e-6);
          expect_gradient(op(options), reference(options), {{5, in}, {classes, in}, {classes}},
                          1e-5);
          expect_gradient(op(options), reference(options), {{5, in}, {classes, in}}, 1e-5);
        }
      }
    }
  });
}

TEST(LinearCrossEntropy, SeveralChunksOfRows) {
  const LossOptions options{0.1f, Smoothing::kPytorch};
  expect_values(op(options), reference(options), {{1100, 6}, {20, 6}, {20}}, 1e-6);
  expect_gradient(op(options), reference(options), {{1100, 6}, {20, 6}, {20}}, 1e-5);
}

TEST(LinearCrossEntropy, SameBitsEverywhere) {
  const LossOptions options{0.1f, Smoothing::kPytorch};
  testing::expect_same_bits_everywhere(op(options), {{700, 40}, {90, 40}, {90}});
}

TEST(LinearCrossEntropy, BackwardScalesByTheGradientOfTheLoss) {
  const Tensor x = random_tensor({9, 6}, 1), w = random_tensor({11, 6}, 2);
  const auto gradients = [&](float factor) {
    Context ctx(Mode::kTraining, test_pool());
    const Var y = op({0.1f})(ctx, ctx.leaf(x), ctx.leaf(w));
    ctx.backward(y, factor);
    return std::vector{ctx.gradient(x).clone(), ctx.gradient(w).clone()};
  };
  const auto one = gradients(1), quarter = gradients(0.25f);
  for (size_t g = 0; g < 2; ++g) {
    for (size_t i = 0; i < one[g].size(); ++i) {
      EXPECT_EQ(quarter[g].host()[i], 0.25f * one[g].host()[i]);
    }
  }
}

TEST(LinearCrossEntropy, GivesTheLossWithoutSmoothingAsWell) {
  const Tensor x = random_tensor({9, 6}, 1), w = random_tensor({11, 6}, 2);
  Context ctx(Mode::kInference, test_pool());
  const std::vector<int32_t> targets = targets_of(9, 11);
  const auto with = ops::linear_cross_entropy(ctx, x, Var(w), nullptr, targets, {0.3f});
  const auto without = ops::linear_cross_entropy(ctx, x, Var(w), nullptr, targets, {0});
  expect_same_bits(with.nll, without.nll);
  expect_same_bits(without.nll, without.objective.value());
  EXPECT_NE(with.objective.value().host()[0], with.nll.host()[0]);
}

TEST(LinearCrossEntropy, TrainingAndInferencePackedOrNotHaveTheSameBits) {
  for_each_simd_target([] {
    Weight w;
    w.name = "output.weight";
    w.value = random_tensor({70, 24}, 1);
    Parameter b;
    b.value = random_tensor({70}, 2);
    const Tensor x = random_tensor({600, 24}, 3);
    const std::vector<int32_t> targets = targets_of(600, 70);
    std::vector<ops::CrossEntropy> results;
    const auto run = [&](Mode mode) {
      Context ctx(mode, test_pool());
      results.push_back(ops::linear_cross_entropy(ctx, x, w, &b, targets, {0.1f}));
    };
    run(Mode::kTraining);
    run(Mode::kInference);
    w.pack(Precision::kF32);
    run(Mode::kInference);
    for (const ops::CrossEntropy& r : results) {
      expect_same_bits(r.objective.value(), results[0].objective.value());
      expect_same_bits(r.nll, results[0].nll);
    }
    EXPECT_THROW(run(Mode::kTraining), InvalidArgument);
  });
}

TEST(LinearCrossEntropy, LargeLogitsNeitherOverflowNorVanish) {
  const Tensor x = Tensor::of({2, 1}, std::vector<float>{1000, -1000});
  const Tensor w = Tensor::of({2, 1}, std::vector<float>{1, -1});
  Context ctx(Mode::kInference, test_pool());
  const auto loss = ops::linear_cross_entropy(ctx, x, Var(w), nullptr, std::vector<int32_t>{0, 0});
  EXPECT_EQ(loss.nll.host()[0], 2000);
}

TEST(LinearCrossEntropy, NaNAndInfinityReachTheLoss) {
  for_each_simd_target([] {
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      for (const size_t where : {0, 5, 36}) {
        const Tensor x = Tensor::of({1, 1}, std::vector<float>{1}), w = random_tensor({37, 1}, 2);
        w.host()[where] = bad;
        Context ctx(Mode::kTraining, test_pool());
        const auto loss = ops::linear_cross_entropy(ctx, x, ctx.leaf(w), nullptr,
                                                    std::vector<int32_t>{where == 5 ? 0 : 5});
        EXPECT_FALSE(std::isfinite(loss.nll.host()[0]));
        EXPECT_FALSE(std::isfinite(loss.objective.value().host()[0]));
      }
    }
  });
}

TEST(LinearCrossEntropy, NoRows) {
  const Tensor x = Tensor::zeros({0, 4}), w = random_tensor({5, 4}, 1);
  Context ctx(Mode::kTraining, test_pool());
  const auto loss = ops::linear_cross_entropy(ctx, ctx.leaf(x), ctx.leaf(w), nullptr, {});
  EXPECT_EQ(loss.objective.value().host()[0], 0);
  ctx.backward(loss.objective);
  for (const float g : ctx.gradient(w).host()) EXPECT_EQ(g, 0);
}

TEST(LinearCrossEntropy, HoldsAChunkOfLogitsAtMost) {
  MemoryPool memory;
  const size_t rows = 4096, classes = 1000;
  const Tensor x = random_tensor({rows, 4}, 1), w = random_tensor({classes, 4}, 2);
  Context ctx(Mode::kTraining, test_pool(), 0, 0, memory);
  ops::linear_cross_entropy(ctx, ctx.leaf(x), ctx.leaf(w), nullptr, targets_of(rows, classes));
  EXPECT_LT(memory.stats().peak_bytes_in_use, rows * classes * sizeof(float) / 4);
}

TEST(LinearCrossEntropy, RejectsWhatDoesNotFit) {
  Context ctx(Mode::kInference, test_pool());
  const Var w = Tensor::zeros({5, 4}), b = Tensor::zeros({4});
  const auto call = [&](size_t in, const Var* bias, std::vector<int32_t> targets, float eps) {
    return [=, &ctx] {
      ops::linear_cross_entropy(ctx, Tensor::zeros({2, in}), w, bias, targets, {eps});
    };
  };
  EXPECT_THAT(
      call(3, nullptr, {0, 0}, 0),
      ThrowsMessage<InvalidArgument>("linear_cross_entropy: x is [2, 3], expected [rows, 4]"));
  EXPECT_THAT(call(4, &b, {0, 0}, 0),
              ThrowsMessage<InvalidArgument>("linear_cross_entropy: bias is [4], expected [5]"));
  EXPECT_THAT(call(4, nullptr, {0}, 0),
              ThrowsMessage<InvalidArgument>("linear_cross_entropy: 1 targets for 2 rows"));
  for (const int32_t bad : {-1, 5}) {
    EXPECT_THAT(call(4, nullptr, {0, bad}, 0),
                ThrowsMessage<InvalidArgument>(concat("linear_cross_entropy: target ", bad,
                                                      " of row 1 is not one of the 5 classes")));
  }
  for (const float bad : {-0.1f, 1.0f, std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_THAT(call(4, nullptr, {0, 0}, bad),
                ThrowsMessage<InvalidArgument>(concat("linear_cross_entropy: smoothing is ", bad,
                                                      ", expected at least 0 and less than 1")));
  }
}

}  // namespace
}  // namespace rapt

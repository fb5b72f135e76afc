#include "rapt/kernels/activation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "rapt/kernels/activation_ref.h"
#include "rapt/testing/expect.h"

namespace rapt::kernels {
namespace {

using testing::Dual;
using testing::expect_same_bits;
using testing::for_each_simd_target;
using testing::random_tensor;

constexpr Activation kAll[] = {Activation::kNone,     Activation::kRelu, Activation::kGelu,
                               Activation::kGeluTanh, Activation::kSilu, Activation::kSigmoid};

struct Result {
  Tensor dx, dbias;
};

// `x` is the input of the activation; its gradients for dy, onto a bias gradient of ones.
Result backward(Activation activation, const Tensor& x, const Tensor& dy, Pool& pool) {
  const Tensor saved = x.clone(), dx = Tensor::zeros(x.shape());
  if (activation == Activation::kRelu) {
    for (float& v : saved.host()) v = activation_ref(activation, v);
  }
  const Tensor partial = random_tensor({row_block_count(x.rows()), x.cols()}, 9);
  const Tensor dbias = Tensor::of({x.cols()}, std::vector<float>(x.cols(), 1.0f));
  activation_backward(activation, saved.matrix(), dy.matrix(), dx.matrix(), partial.matrix(),
                      dbias.span(), pool);
  return {activation == Activation::kNone ? dy : dx, dbias};
}

TEST(ActivationBackward, IsTheDerivative) {
  Pool pool(2);
  for_each_simd_target([&] {
    for (const Activation activation : kAll) {
      const Tensor x = random_tensor({70, 37}, 1, 9.0f), dy = random_tensor({70, 37}, 2);
      const Result result = backward(activation, x, dy, pool);
      testing::Array<double> want(x.shape());
      for (size_t i = 0; i < x.size(); ++i) {
        want.data[i] = dy.host()[i] * activation_ref(activation, Dual(x.host()[i], 1)).d;
      }
      testing::expect_near(result.dx, want, 2e-6);
    }
  });
}

TEST(ActivationBackward, AddsTheBiasGradientByBlocksOfRows) {
  for (const size_t rows : {1, 63, 64, 65, 200}) {
    const Tensor x = random_tensor({rows, 37}, 1), dy = random_tensor({rows, 37}, 2);
    for_each_simd_target([&] {
      for (const Activation activation : kAll) {
        for (const size_t threads : {1, 2, 3}) {
          Pool pool(threads);
          const Result result = backward(activation, x, dy, pool);
          const Tensor want = Tensor::of({37}, std::vector<float>(37, 1.0f));
          for (size_t j = 0; j < 37; ++j) {
            for (size_t begin = 0; begin < rows; begin += kRowBlock) {
              float sum = 0;
              for (size_t r = begin; r < std::min(rows, begin + kRowBlock); ++r) {
                sum += result.dx.matrix().row(r)[j];
              }
              want.host()[j] += sum;
            }
          }
          expect_same_bits(result.dbias, want);
        }
      }
    });
  }
}

TEST(ActivationBackward, MayWriteOverDy) {
  Pool pool(1);
  const Tensor x = random_tensor({5, 21}, 1), dy = random_tensor({5, 21}, 2);
  for (const Activation activation : {Activation::kGelu, Activation::kSilu}) {
    const Tensor want = backward(activation, x, dy, pool).dx, in_place = dy.clone();
    activation_backward(activation, x.matrix(), in_place.matrix(), in_place.matrix(), {}, {}, pool);
    expect_same_bits(in_place, want);
  }
}

TEST(ActivationBackward, KeepsNaN) {
  Pool pool(1);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for_each_simd_target([&] {
    for (const Activation activation : kAll) {
      const Tensor x = random_tensor({3, 21}, 1), dy = random_tensor({3, 21}, 2);
      x.host()[3] = 1.5f;
      dy.host()[3] = nan;
      const Result result = backward(activation, x, dy, pool);
      EXPECT_TRUE(std::isnan(result.dx.host()[3]));
      EXPECT_TRUE(std::isnan(result.dbias.host()[3]));
      EXPECT_FALSE(std::isnan(result.dbias.host()[4]));
    }
  });
}

}  // namespace
}  // namespace rapt::kernels

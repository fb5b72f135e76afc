// One scalar formula is the oracle for the values of an operation on every SIMD target and, fed
// dual numbers in double, for its gradient: <grad, v> == d/dt f(x + t v) at t = 0.
//   op:        Var(Context&, const Var&...)
//   reference: Array<T>(const Array<T>&...), a template on the number T
// Inputs are drawn from Philox: the same everywhere.
#pragma once
#include <gtest/gtest.h>

#include <cmath>

#include "rapt/autograd/context.h"
#include "rapt/testing/array.h"
#include "rapt/testing/dual.h"
#include "rapt/testing/simd_targets.h"

namespace rapt::testing {

Pool& test_pool();  // three threads

// Values in (-range, range), a function of (shape, salt); exactly representable, never 0.
Tensor random_tensor(Shape shape, uint32_t salt, float range = 2.0f);

inline Array<double> to_array(const Tensor& t) {
  Array<double> a(t.shape());
  for (size_t i = 0; i < t.size(); ++i) a.data[i] = t.host()[i];
  return a;
}
// t + e * direction
inline Array<Dual> to_dual(const Tensor& t, const Tensor* direction) {
  Array<Dual> a(t.shape());
  for (size_t i = 0; i < t.size(); ++i) {
    a.data[i] = {t.host()[i], direction == nullptr ? 0.0 : direction->host()[i]};
  }
  return a;
}

// |x - y| <= tolerance * (1 + |y|), element by element; equal shapes; NaN fails.
void expect_near(const Tensor& value, const Array<double>& expected, double tolerance);
// The same bits; reports the first place that differs.
void expect_same_bits(const Tensor& value, const Tensor& expected);

// Appends the first `cols` columns of a matrix that was 0; what lies behind them must be so still.
void append_columns(const Tensor& wide, size_t cols, std::vector<float>& values);

namespace detail {
template <size_t N>
std::array<Tensor, N> random_inputs(const Shape (&shapes)[N]) {
  std::array<Tensor, N> inputs;
  for (size_t i = 0; i < N; ++i) inputs[i] = random_tensor(shapes[i], static_cast<uint32_t>(i));
  return inputs;
}
}  // namespace detail

template <class Op, class Reference, size_t N>
void expect_values_at(const Op& op, const Reference& reference, const std::array<Tensor, N>& inputs,
                      double tolerance) {
  [&]<size_t... I>(std::index_sequence<I...>) {
    Context ctx(Mode::kInference, test_pool());
    const Var y = op(ctx, Var(inputs[I])...);
    expect_near(y.value(), reference(to_array(inputs[I])...), tolerance);
  }
  (std::make_index_sequence<N>());
}

template <class Op, class Reference, size_t N>
void expect_values(const Op& op, const Reference& reference, const Shape (&shapes)[N],
                   double tolerance) {
  expect_values_at(op, reference, detail::random_inputs(shapes), tolerance);
}

// The gradient of sum(w * op(x)) with random w, for each input by itself, in `kDirections` random
// directions: |difference| <= tolerance * (1 + |derivative| + what rounding of the terms explains).
template <class Op, class Reference, size_t N>
void expect_gradient_at(const Op& op, const Reference& reference,
                        const std::array<Tensor, N>& inputs, double tolerance,
                        Mode mode = Mode::kEvaluation) {
  constexpr uint32_t kDirections = 4;
  [&]<size_t... I>(std::index_sequence<I...>) {
    Context ctx(mode, test_pool());
    const Var y = op(ctx, ctx.leaf(inputs[I])...);
    const Tensor w = random_tensor(y.shape(), 1000);
    ctx.backward(y, w);
    for (size_t input = 0; input < N; ++input) {
      const Tensor gradient = ctx.gradient(inputs[input]);
      ASSERT_FALSE(gradient.empty()) << "input " << input << " has no gradient";
      ASSERT_EQ(gradient.shape(), inputs[input].shape());
      for (uint32_t n = 0; n < kDirections; ++n) {
        const Tensor v = random_tensor(inputs[input].shape(), 2000 + n);
        const Array<Dual> out = reference(to_dual(inputs[I], I == input ? &v : nullptr)...);
        ASSERT_EQ(out.data.size(), w.size());
        double expected = 0, actual = 0, size = 0;
        for (size_t i = 0; i < w.size(); ++i) expected += w.host()[i] * out.data[i].d;
        for (size_t i = 0; i < v.size(); ++i) {
          actual += static_cast<double>(gradient.host()[i]) * v.host()[i];
          size += std::pow(static_cast<double>(gradient.host()[i]) * v.host()[i], 2);
        }
        EXPECT_LE(std::abs(actual - expected),
                  tolerance * (1 + std::abs(expected) + std::sqrt(size)))
            << "input " << input << ", direction " << n << ": <gradient, v> is " << actual
            << ", the derivative is " << expected;
      }
    }
  }
  (std::make_index_sequence<N>());
}

template <class Op, class Reference, size_t N>
void expect_gradient(const Op& op, const Reference& reference, const Shape (&shapes)[N],
                     double tolerance) {
  expect_gradient_at(op, reference, detail::random_inputs(shapes), tolerance);
}

}  // namespace rapt::testing

// Each function against long double arithmetic on dense grids, and its bits between targets.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "rapt/parallel/flush_denormals.h"
#include "rapt/testing/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rapt/kernels/simd_math_test.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "rapt/kernels/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rapt::kernels::HWY_NAMESPACE {

// y = f(x), for the n-th function of kFunctions; x.size() is a multiple of 16.
void Apply(size_t function, const std::vector<float>& x, std::vector<float>& y) {
  const FlushDenormals flush;
  const auto run = [&](auto f) HWY_ATTR {
    for (size_t i = 0; i < x.size(); i += hn::Lanes(F32())) {
      hn::StoreU(f(hn::LoadU(F32(), &x[i])), F32(), &y[i]);
    }
  };
  switch (function) {
    case 0:
      return run([](Vec v) HWY_ATTR { return exp2(v); });
    case 1:
      return run([](Vec v) HWY_ATTR { return exp(v); });
    case 2:
      return run([](Vec v) HWY_ATTR { return exp2_nonpositive(v); });
    case 3:
      return run([](Vec v) HWY_ATTR { return exp_nonpositive(v); });
    case 4:
      return run([](Vec v) HWY_ATTR { return log2(v); });
    case 5:
      return run([](Vec v) HWY_ATTR { return log(v); });
    case 6:
      return run([](Vec v) HWY_ATTR { return erf(v); });
    case 7:
      return run([](Vec v) HWY_ATTR { return tanh(v); });
    case 8:
      return run([](Vec v) HWY_ATTR { return sigmoid(v); });
    default:
      return run([](Vec v) HWY_ATTR { return normal_cdf(v); });
  }
}

}  // namespace rapt::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rapt::kernels {
HWY_EXPORT(Apply);
namespace {

using testing::fma_targets;
using testing::for_each_simd_target;
using testing::on_simd_target;
using testing::simd_targets;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kSmallest = std::numeric_limits<float>::min();

struct Function {
  const char* name;
  long double (*exact)(long double);
  float first, last;    // where it is tested
  long double ulp;      // the largest error
  long double unfused;  // on targets without FMA
  // Also allowed, everywhere: intermediate results below 2^-126 become 0.
  long double absolute = 0x1p-126L;
};

long double normal_cdf_exact(long double x) { return std::erfc(-x / std::sqrt(2.0L)) / 2; }

const Function kFunctions[] = {
    {"exp2", [](long double x) { return std::exp2(x); }, -kInfinity, kInfinity, 1, 1.25},
    {"exp", [](long double x) { return std::exp(x); }, -kInfinity, kInfinity, 1, 1.25},
    {"exp2_nonpositive", [](long double x) { return std::exp2(x); }, -kInfinity, 0, 1, 1.25},
    {"exp_nonpositive", [](long double x) { return std::exp(x); }, -kInfinity, 0, 1, 1.25},
    {"log2", [](long double x) { return std::log2(x); }, kSmallest, kInfinity, 1, 2},
    {"log", [](long double x) { return std::log(x); }, kSmallest, kInfinity, 1, 1},
    {"erf", [](long double x) { return std::erf(x); }, -kInfinity, kInfinity, 1.25, 1.5},
    {"tanh", [](long double x) { return std::tanh(x); }, -kInfinity, kInfinity, 1.5, 1.5},
    {"sigmoid", [](long double x) { return 1 / (1 + std::exp(-x)); }, -kInfinity, kInfinity, 2.25,
     2.25},
    {"normal_cdf", normal_cdf_exact, 0, kInfinity, 1.25, 1.5},
    {"normal_cdf", normal_cdf_exact, -2, 0, 8, 8},
    {"normal_cdf", normal_cdf_exact, -6.5, -2, 128, 128},
    {"normal_cdf", normal_cdf_exact, -kInfinity, -6.5, 0, 0, 5e-11L},
};

std::vector<float> evaluate(size_t function, std::vector<float> x) {
  const size_t n = x.size();
  x.resize((n + 15) / 16 * 16);
  std::vector<float> y(x.size());
  HWY_DYNAMIC_DISPATCH(Apply)(function, x, y);
  y.resize(n);
  return y;
}

// Floats of all sizes, and evenly spaced ones where the functions change most.
std::vector<float> grid(float first, float last) {
  std::vector<float> x;
  const auto add = [&](float v) {
    if (v >= first && v <= last) x.push_back(v);
  };
  for (uint64_t bits = 0; bits <= 0x7F800000; bits += 8191) {
    add(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    add(-std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  for (int i = -200'000; i <= 200'000; ++i) add(static_cast<float>(i) / 2000.0f);
  for (int i = -200'000; i <= 200'000; ++i) add(1.0f + static_cast<float>(i) * 0x1p-20f);
  for (const float v : {0.875f, 0.55f, 4.0f, 6.5f, 10.0f, 88.0f, 127.0f, 128.0f, 0.70710678f}) {
    for (const float sign : {1.0f, -1.0f}) {
      const uint32_t middle = std::bit_cast<uint32_t>(sign * v);
      for (uint32_t i = middle - 100; i < middle + 100; ++i) add(std::bit_cast<float>(i));
    }
  }
  add(kInfinity);
  add(-kInfinity);
  return x;
}

long double ulp_of(long double y) {
  int exponent;
  std::frexp(y, &exponent);
  return std::ldexp(1.0L, std::max(exponent, -125) - 24);
}

void check_errors(bool fused) {
  for (size_t f = 0; f < std::size(kFunctions); ++f) {
    const Function& function = kFunctions[f];
    const std::vector<float> x = grid(function.first, function.last);
    const std::vector<float> y = evaluate(f, x);
    long double worst = 0;
    size_t where = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const long double exact = function.exact(x[i]);
      if (std::abs(x[i]) < kSmallest && x[i] != 0) continue;  // a denormal is 0
      if (std::isinf(y[i]) && std::abs(exact) > 0x1.ffffffp127L) continue;
      long double error = std::abs(y[i] - exact);
      if (static_cast<long double>(y[i]) == exact) error = 0;  // infinities
      if (error <= function.absolute) continue;
      if (!(error / ulp_of(exact) <= worst)) worst = error / ulp_of(exact), where = i;
    }
    EXPECT_LE(worst, fused ? function.ulp : function.unfused)
        << function.name << "(" << x[where] << ") = " << y[where];
  }
}

TEST(SimdMath, ErrsByAtMostWhatTheHeaderSays) {
  const std::vector<int64_t> fused = fma_targets();
  for (const int64_t target : simd_targets()) {
    on_simd_target(target, [&] { check_errors(std::ranges::count(fused, target) != 0); });
  }
}

TEST(SimdMath, KeepsEveryNaN) {
  for_each_simd_target([] {
    for (size_t f = 0; f < std::size(kFunctions); ++f) {
      for (const uint32_t bits :
           {0x7FC00000u, 0xFFC00000u, 0x7FC00001u, 0x7FFFFFFFu, 0x7F800001u}) {
        const float y = evaluate(f, {std::bit_cast<float>(bits)})[0];
        EXPECT_TRUE(std::isnan(y)) << kFunctions[f].name << " gives " << y;
      }
    }
  });
}

TEST(SimdMath, EndsOfTheRanges) {
  for_each_simd_target([] {
    using Floats = std::vector<float>;
    const Floats ends = {-kInfinity, -1e30f, 0, 1e30f, kInfinity};
    EXPECT_EQ(evaluate(0, ends), (Floats{0, 0, 1, kInfinity, kInfinity}));
    EXPECT_EQ(evaluate(1, ends), (Floats{0, 0, 1, kInfinity, kInfinity}));
    EXPECT_EQ(evaluate(2, {-kInfinity, -1e29f, -127.5f, 0}), (Floats{0, 0, 0, 1}));
    EXPECT_EQ(evaluate(3, {-kInfinity, -1e29f, -88.0f, 0}), (Floats{0, 0, 0, 1}));
    for (const size_t log : {4, 5}) {
      EXPECT_EQ(evaluate(log, {0, -0.0f, 1, kInfinity}),
                (Floats{-kInfinity, -kInfinity, 0, kInfinity}));
      EXPECT_TRUE(std::isnan(evaluate(log, {-1})[0]));
    }
    EXPECT_EQ(evaluate(6, ends), (Floats{-1, -1, 0, 1, 1}));
    EXPECT_EQ(evaluate(7, ends), (Floats{-1, -1, 0, 1, 1}));
    EXPECT_EQ(evaluate(8, ends), (Floats{0, 0, 0.5f, 1, 1}));
    EXPECT_EQ(evaluate(9, ends), (Floats{0, 0, 0.5f, 1, 1}));
    EXPECT_TRUE(std::signbit(evaluate(6, {-0.0f})[0]));
    EXPECT_TRUE(std::signbit(evaluate(7, {-0.0f})[0]));
  });
}

TEST(SimdMath, PowersOfTwoAreExact) {
  for_each_simd_target([] {
    for (int n = -126; n < 128; ++n) {
      EXPECT_EQ(evaluate(0, {static_cast<float>(n)})[0], std::ldexp(1.0f, n));
      EXPECT_EQ(evaluate(4, {std::ldexp(1.0f, n)})[0], static_cast<float>(n));
      EXPECT_TRUE(n > 0 || evaluate(2, {static_cast<float>(n)})[0] == std::ldexp(1.0f, n));
    }
  });
}

TEST(SimdMath, TheCheapFormsHaveTheSameBits) {
  for_each_simd_target([] {
    const std::vector<float> x = grid(-kInfinity, 0);
    EXPECT_EQ(evaluate(2, x), evaluate(0, x));
    EXPECT_EQ(evaluate(3, x), evaluate(1, x));
  });
}

TEST(SimdMath, TargetsWithFmaHaveTheSameBits) {
  for (size_t f = 0; f < 10; ++f) {
    const std::vector<float> x = grid(-kInfinity, kInfinity);
    std::vector<std::vector<float>> results;
    for (const int64_t target : fma_targets()) {
      on_simd_target(target, [&] { results.push_back(evaluate(f, x)); });
    }
    for (const std::vector<float>& y : results) {
      for (size_t i = 0; i < x.size(); ++i) {
        ASSERT_EQ(std::bit_cast<uint32_t>(y[i]), std::bit_cast<uint32_t>(results[0][i]))
            << kFunctions[f].name << "(" << x[i] << ")";
      }
    }
  }
}

}  // namespace
}  // namespace rapt::kernels
#endif  // HWY_ONCE

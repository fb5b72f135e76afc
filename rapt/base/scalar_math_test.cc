#include "rapt/base/scalar_math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numbers>

#include "rapt/base/philox.h"

namespace rapt::scalar {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// The oracle is libm in long double, which has at least 11 more bits on x86-64 and aarch64 Linux.
using Wide = long double;
static_assert(std::numeric_limits<Wide>::digits >= 64);

// |value - exact| in units in the last place of a double at `exact`.
double ulps(double value, Wide exact) {
  const int exponent = std::ilogb(exact);
  const Wide ulp = std::ldexp(Wide{1}, std::max(exponent, -1022) - 52);
  return static_cast<double>(std::fabs(static_cast<Wide>(value) - exact) / ulp);
}

double uniform(uint64_t i, double low, double high) {
  const PhiloxBlock b = philox({static_cast<uint32_t>(i), 0, 0, 0}, 7);
  return low + (high - low) * (b[0] * 0x1p-32 + b[1] * 0x1p-64);
}

double worst(double low, double high, const std::function<double(double)>& f,
             const std::function<Wide(Wide)>& exact, int samples = 20000) {
  double worst = 0;
  for (int i = 0; i < samples; ++i) {
    const double x = uniform(static_cast<uint64_t>(i), low, high);
    worst = std::max(worst, ulps(f(x), exact(x)));
  }
  return worst;
}

Wide wide_exp(Wide x) { return std::exp(x); }
Wide wide_log(Wide x) { return std::log(x); }
Wide wide_sin(Wide x) { return std::sin(x); }
Wide wide_cos(Wide x) { return std::cos(x); }
Wide wide_tanh(Wide x) { return std::tanh(x); }

TEST(ScalarMath, ExpIsWithinOneUlp) {
  EXPECT_LE(worst(-708.39, 709.78, exp, wide_exp), 1);
  EXPECT_LE(worst(-1, 1, exp, wide_exp), 1);
  EXPECT_LE(worst(-1e-8, 1e-8, exp, wide_exp), 1);
}

TEST(ScalarMath, ExpAtTheEnds) {
  EXPECT_EQ(exp(0), 1);
  EXPECT_EQ(exp(1), std::numbers::e);
  EXPECT_EQ(exp(710), kInfinity);
  EXPECT_EQ(exp(kInfinity), kInfinity);
  EXPECT_EQ(exp(-kInfinity), 0);
  EXPECT_EQ(exp(-708.5), 0);  // a denormal: flushed
  EXPECT_LE(ulps(exp(-708.39), std::exp(Wide{-708.39})), 1);
  EXPECT_LE(ulps(exp(709.78), std::exp(Wide{709.78})), 1);
  EXPECT_TRUE(std::isnan(exp(kNaN)));
}

TEST(ScalarMath, LogIsWithinOneUlp) {
  EXPECT_LE(worst(0, 1, log, wide_log), 1);
  EXPECT_LE(worst(0.999, 1.001, log, wide_log), 1);
  EXPECT_LE(worst(0.5, 2, log, wide_log), 1);
  EXPECT_LE(worst(1, 1e12, log, wide_log), 1);
  EXPECT_LE(worst(1e300, 1.79e308, log, wide_log), 1);
  EXPECT_LE(worst(2.3e-308, 1e-300, log, wide_log), 1);
}

TEST(ScalarMath, LogAtTheEnds) {
  EXPECT_EQ(log(1), 0);
  EXPECT_EQ(log(2), kLn2);
  EXPECT_EQ(log(10), kLn10);
  EXPECT_EQ(log(0), -kInfinity);
  EXPECT_EQ(log(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(log(-1)));
  EXPECT_TRUE(std::isnan(log(-kInfinity)));
  EXPECT_TRUE(std::isnan(log(kNaN)));
}

TEST(ScalarMath, PowIsWithinOneUlp) {
  double worst = 0;
  for (uint64_t i = 0; i < 20000; ++i) {
    const double x = exp(uniform(2 * i, -30, 30)), y = uniform(2 * i + 1, -20, 20);
    worst = std::max(worst, ulps(pow(x, y), std::pow(Wide{x}, Wide{y})));
  }
  EXPECT_LE(worst, 1);
  // What the project raises to a power: wave lengths of the sinusoids, len^alpha, decays.
  for (int d : {64, 128, 512}) {
    for (int i = 0; i < d; i += 2) {
      const double y = -static_cast<double>(i) / d;
      EXPECT_LE(ulps(pow(10000, y), std::pow(Wide{10000}, Wide{y})), 1) << i << " of " << d;
    }
  }
  for (int n = 1; n < 5000; ++n) EXPECT_LE(ulps(pow(n, 0.6), std::pow(Wide(n), Wide{0.6})), 1);
  for (int n = 1; n < 5000; ++n) EXPECT_LE(ulps(pow(n, -0.5), std::pow(Wide(n), Wide{-0.5})), 1);
  for (int n = 1; n < 5000; ++n) {
    EXPECT_LE(ulps(pow(0.999, n), std::pow(Wide{0.999}, Wide(n))), 1) << n;
  }
}

TEST(ScalarMath, PowOfSmallIntegersIsExact) {
  for (int x = 1; x <= 12; ++x) {
    double product = 1;
    for (int n = 0; n <= 12; ++n, product *= x) {
      EXPECT_EQ(pow(x, n), product) << x << "^" << n;
      EXPECT_EQ(pow(-x, n), n % 2 == 0 ? product : -product) << -x << "^" << n;
    }
  }
}

TEST(ScalarMath, PowAtTheEnds) {
  EXPECT_EQ(pow(0, 2), 0);
  EXPECT_EQ(pow(0, -2), kInfinity);
  EXPECT_EQ(pow(-0.0, -3), -kInfinity);
  EXPECT_EQ(pow(5, 0), 1);
  EXPECT_EQ(pow(2, 1024), kInfinity);
  EXPECT_EQ(pow(2, 1023), 0x1p1023);
  EXPECT_EQ(pow(2, -1022), 0x1p-1022);
  EXPECT_EQ(pow(2, -1023), 0);
  EXPECT_EQ(pow(-2, kInfinity), kInfinity);
  EXPECT_EQ(pow(0.5, kInfinity), 0);
  EXPECT_EQ(pow(kInfinity, -1), 0);
  EXPECT_TRUE(std::isnan(pow(-2, 0.5)));
  EXPECT_TRUE(std::isnan(pow(-2, 0x1p51 + 0.5)));
  EXPECT_TRUE(std::isnan(pow(kNaN, 1)));
}

TEST(ScalarMath, SinAndCosAreWithinOneUlp) {
  for (double reach : {1.0, 10.0, 1000.0, 1e6, 0x1p30}) {
    EXPECT_LE(worst(-reach, reach, sin, wide_sin), 1) << reach;
    EXPECT_LE(worst(-reach, reach, cos, wide_cos), 1) << reach;
  }
}

TEST(ScalarMath, SinAndCosNearMultiplesOfHalfPi) {
  // There the result is what the reduction leaves. libm reduces with as many bits as it takes.
  for (int k = 1; k < 700000; k += 7) {
    const double x = k * (std::numbers::pi / 2);
    ASSERT_LE(ulps(sin(x), std::sin(Wide{x})), 1) << k;
    ASSERT_LE(ulps(cos(x), std::cos(Wide{x})), 1) << k;
  }
}

TEST(ScalarMath, SinAndCosAtTheEnds) {
  EXPECT_EQ(sin(0), 0);
  EXPECT_TRUE(std::signbit(sin(-0.0)));
  EXPECT_EQ(cos(0), 1);
  EXPECT_EQ(sin(1e-300), 1e-300);
  EXPECT_EQ(sin(-0.75), -sin(0.75));
  for (double x : {kInfinity, -kInfinity, kNaN, 0x1p31}) {
    EXPECT_TRUE(std::isnan(sin(x))) << x;
    EXPECT_TRUE(std::isnan(cos(x))) << x;
  }
}

TEST(ScalarMath, TanhIsWithinOneUlp) {
  EXPECT_LE(worst(-21, 21, tanh, wide_tanh), 1);
  EXPECT_LE(worst(-1, 1, tanh, wide_tanh), 1);
  EXPECT_LE(worst(-1e-3, 1e-3, tanh, wide_tanh), 1);
  EXPECT_LE(worst(-1e-8, 1e-8, tanh, wide_tanh), 1);
}

TEST(ScalarMath, TanhAtTheEnds) {
  EXPECT_EQ(tanh(0), 0);
  EXPECT_EQ(tanh(kInfinity), 1);
  EXPECT_EQ(tanh(-kInfinity), -1);
  EXPECT_EQ(tanh(-0.3), -tanh(0.3));
  EXPECT_TRUE(std::isnan(tanh(kNaN)));
}

}  // namespace
}  // namespace rapt::scalar

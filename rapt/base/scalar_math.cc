#include "rapt/base/scalar_math.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace rapt::scalar {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kSmallest = 0x1p-1022;  // the smallest normal number

// The unevaluated sum hi + lo with |lo| <= ulp(hi) / 2, or near it.
struct Pair {
  double hi, lo;
};

// a + b exactly (Knuth, 1969).
Pair two_sum(double a, double b) {
  const double sum = a + b, part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}

// a * b exactly.
Pair two_product(double a, double b) {
  const double product = a * b;
  return {product, std::fma(a, b, -product)};
}

template <size_t N>
double horner(double x, const std::array<double, N>& c) {
  double sum = c[N - 1];
  for (size_t i = N - 1; i-- > 0;) sum = std::fma(sum, x, c[i]);
  return sum;
}

// 1 / first!, 1 / (first + step)!, ... with alternating signs when `alternate`.
template <size_t N>
constexpr std::array<double, N> inverse_factorials(int first, int step, bool alternate) {
  std::array<double, N> c{};
  for (size_t i = 0; i < N; ++i) {
    double factorial = 1;  // exact up to 22!
    for (int n = 2; n <= first + step * static_cast<int>(i); ++n) factorial *= n;
    c[i] = (alternate && i % 2 == 1 ? -1 : 1) / factorial;
  }
  return c;
}

// The integer nearest to x, |x| < 2^51: the sum has no bits for a fraction.
double round_to_integer(double x) {
  constexpr double kShift = 0x1.8p52;
  return (x + kShift) - kShift;
}

// 2^k, -1022 <= k <= 1023.
double power_of_two(int k) { return std::bit_cast<double>(static_cast<uint64_t>(k + 1023) << 52); }

constexpr double kLn2Low = 0x1.abc9e3b39803fp-56;  // ln 2 - kLn2

// x = k ln 2 + r with |r| <= 0.35. x - k kLn2 is a multiple of 2^-54 below 1, so the first fma is
// exact; the second term is a correction below 2^-45.
struct ExpArgument {
  int k;
  Pair r;
};
ExpArgument reduce_exp(double x) {
  const double k = round_to_integer(x * (1 / kLn2));
  return {static_cast<int>(k), two_sum(std::fma(-k, kLn2, x), -k * kLn2Low)};
}

// e^r - 1 - r = r^2 (1/2! + r/3! + ...), where the first omitted term is below 2^-57.
double exp_tail(Pair r) {
  static constexpr auto kCoefficients = inverse_factorials<12>(2, 1, false);
  return std::fma(r.hi * r.hi, horner(r.hi, kCoefficients), r.lo);
}

// e^(x + low), |low| <= ulp(x).
double exp_of_pair(double x, double low) {
  if (x != x) return x;
  if (x > 709.79) return kInfinity;  // ln 2^1024 = 709.78...
  if (x < -708.4) return 0;          // ln 2^-1022 = -708.39...
  ExpArgument a = reduce_exp(x);
  a.r = two_sum(a.r.hi, a.r.lo + low);
  const Pair head = two_sum(1, a.r.hi);
  const double y = head.hi + (head.lo + exp_tail(a.r));
  if (a.k < -1022 || (a.k == -1022 && y < 1)) return 0;
  return a.k > 1023 ? y * power_of_two(a.k - 1) * 2 : y * power_of_two(a.k);
}

// ln x for a normal x > 0 in two doubles: x = 2^k m with m in [sqrt(1/2), sqrt(2)) and
//   ln m = 2 s + 2/3 s^3 + 2/5 s^5 + ...,   s = (m - 1) / (m + 1),   |s| <= 0.172
// The first two terms are kept in two doubles, which leaves a relative error near 2^-64.
Pair log_pair(double x) {
  const uint64_t bits = std::bit_cast<uint64_t>(x);
  constexpr uint64_t kMantissa = (uint64_t{1} << 52) - 1;
  double m = std::bit_cast<double>((bits & kMantissa) | uint64_t{1023} << 52);
  double k = static_cast<double>(static_cast<int>(bits >> 52) - 1023);
  if (m > 0x1.6a09e667f3bcdp+0) {  // sqrt(2)
    m *= 0.5;
    k += 1;
  }
  const double f = m - 1;
  const Pair d = two_sum(m, 1);
  const double s = f / d.hi, s_low = (std::fma(-s, d.hi, f) - s * d.lo) / d.hi;
  const Pair square = two_product(s, s);
  const double square_low = std::fma(2 * s, s_low, square.lo);
  const Pair cube = two_product(s, square.hi);
  const double cube_low = cube.lo + std::fma(s, square_low, square.hi * s_low);
  constexpr double kTwoThirds = 2.0 / 3, kTwoThirdsLow = 0x1.5555555555555p-55;  // 2/3 - kTwoThirds
  const Pair third = two_product(kTwoThirds, cube.hi);
  const double third_low = third.lo + std::fma(kTwoThirds, cube_low, kTwoThirdsLow * cube.hi);

  static constexpr auto kCoefficients = [] {
    std::array<double, 12> c{};
    for (size_t n = 0; n < c.size(); ++n) c[n] = 2.0 / static_cast<double>(2 * n + 5);
    return c;
  }();
  const double tail = cube.hi * square.hi * horner(square.hi, kCoefficients);

  const Pair k_ln2 = two_product(k, kLn2);
  const double k_low = std::fma(k, kLn2Low, k_ln2.lo);
  const Pair first = two_sum(k_ln2.hi, 2 * s), second = two_sum(first.hi, third.hi);
  const double low = (first.lo + second.lo) + (k_low + (std::fma(2, s_low, third_low) + tail));
  return two_sum(second.hi, low);
}

// x = k pi/2 + r, |r| <= pi/4 and a little; `quadrant` is k mod 4. pi/2 is the sum of three
// doubles. x - k kHigh is exact, being a multiple of 2^-53 below 1.
struct Angle {
  int quadrant;
  Pair r;
};
Angle reduce_angle(double x) {
  constexpr double kHigh = 0x1.921fb54442d18p+0, kMiddle = 0x1.1a62633145c07p-54,
                   kLow = -0x1.f1976b7ed8fbcp-110;
  const double k = round_to_integer(x * (1 / kHigh));
  const Pair middle = two_product(k, kMiddle);
  const Pair r = two_sum(std::fma(-k, kHigh, x), -middle.hi);
  const double low = r.lo - std::fma(k, kLow, middle.lo);
  return {static_cast<int>(static_cast<int64_t>(k) & 3), two_sum(r.hi, low)};
}

// sin(r) = r - r^3/3! + ... + r^17/17!; the first omitted term is below 2^-62 r.
double sin_kernel(Pair r) {
  static constexpr auto kCoefficients = inverse_factorials<8>(3, 2, true);
  const double z = r.hi * r.hi;
  const double low = std::fma(-0.5 * z, r.lo, r.lo);  // r.lo cos(r.hi)
  return r.hi + std::fma(-r.hi * z, horner(z, kCoefficients), low);
}

// cos(r) = 1 - r^2/2! + r^4/4! - ... + r^18/18!.
double cos_kernel(Pair r) {
  static constexpr auto kCoefficients = inverse_factorials<8>(4, 2, true);
  const double z = r.hi * r.hi, half = 0.5 * z;
  const double low = std::fma(z * z, horner(z, kCoefficients), -r.hi * r.lo);
  const double head = 1 - half;
  return head + (((1 - head) - half) + low);
}

// sin(x + turns pi/2)
double sine(double x, int turns) {
  if (!(x >= -0x1p30 && x <= 0x1p30)) return kNaN;
  const Angle a = reduce_angle(x);
  const int quadrant = (a.quadrant + turns) & 3;
  const double y = quadrant % 2 == 0 ? sin_kernel(a.r) : cos_kernel(a.r);
  return quadrant < 2 ? y : -y;
}

// From 2^53 on every double is an even integer.
bool is_integer(double y) {
  return !(y > -0x1p53 && y < 0x1p53) || static_cast<double>(static_cast<int64_t>(y)) == y;
}

bool is_odd(double y) {
  return y > -0x1p53 && y < 0x1p53 && is_integer(y) && static_cast<int64_t>(y) % 2 != 0;
}

}  // namespace

double exp(double x) { return exp_of_pair(x, 0); }

double log(double x) {
  if (x != x || x == kInfinity) return x;
  if (x < kSmallest) return x > -kSmallest ? -kInfinity : kNaN;
  return log_pair(x).hi;
}

double pow(double x, double y) {
  if (x != x || y != y) return kNaN;
  if (y == 0 || x == 1) return 1;
  const bool negative = std::bit_cast<uint64_t>(x) >> 63 != 0;
  const double magnitude = negative ? -x : x;
  if (negative && magnitude >= kSmallest && !is_integer(y)) return kNaN;
  const double sign = negative && is_odd(y) ? -1 : 1;
  if (magnitude < kSmallest) return sign * (y > 0 ? 0 : kInfinity);
  if (magnitude == kInfinity) return sign * (y > 0 ? kInfinity : 0);
  if (magnitude == 1) return sign;
  const Pair l = log_pair(magnitude);
  const double product = y * l.hi;
  if (product > 709.79) return sign * kInfinity;
  if (product < -708.4) return sign * 0;
  return sign * exp_of_pair(product, std::fma(y, l.lo, std::fma(y, l.hi, -product)));
}

double sin(double x) { return x > -kSmallest && x < kSmallest ? x : sine(x, 0); }

double cos(double x) { return sine(x, 1); }

// tanh a = t / (2 - t), where t = 1 - e^(-2a), a > 0; t and the quotient in two doubles.
double tanh(double x) {
  const double a = x < 0 ? -x : x;
  if (!(a >= 0x1p-28)) return x;  // tanh x = x - x^3/3 + ...; NaN too
  if (a > 20) return x < 0 ? -1 : 1;
  const ExpArgument e = reduce_exp(-2 * a);
  const double scale = power_of_two(e.k);
  const Pair ends = two_sum(1, -scale), head = two_sum(ends.hi, -scale * e.r.hi);
  const Pair t = two_sum(head.hi, (ends.lo + head.lo) - scale * exp_tail(e.r));
  const Pair d = two_sum(2, -t.hi);
  const double q = t.hi / d.hi;
  const double rest = std::fma(-q, d.hi, t.hi) + (t.lo - q * (d.lo - t.lo));
  const double y = q + rest / d.hi;
  return x < 0 ? -y : y;
}

}  // namespace rapt::scalar

// Dual numbers: v + d e with e^2 = 0. A reference that runs on them gives its value and its exact
// derivative in one direction, with no step size to choose.
#pragma once
#include <cmath>
#include <compare>

namespace rapt::testing {

struct Dual {
  double v = 0, d = 0;
  Dual() = default;
  Dual(double value, double derivative = 0) : v(value), d(derivative) {}  // NOLINT: a number

  friend Dual operator+(Dual a, Dual b) { return {a.v + b.v, a.d + b.d}; }
  friend Dual operator-(Dual a, Dual b) { return {a.v - b.v, a.d - b.d}; }
  friend Dual operator*(Dual a, Dual b) { return {a.v * b.v, a.d * b.v + a.v * b.d}; }
  friend Dual operator/(Dual a, Dual b) { return {a.v / b.v, (a.d - a.v / b.v * b.d) / b.v}; }
  friend Dual operator-(Dual a) { return {-a.v, -a.d}; }
  Dual& operator+=(Dual b) { return *this = *this + b; }
  Dual& operator-=(Dual b) { return *this = *this - b; }
  Dual& operator*=(Dual b) { return *this = *this * b; }
  Dual& operator/=(Dual b) { return *this = *this / b; }
  // Branches look at the value alone.
  friend bool operator==(Dual a, Dual b) { return a.v == b.v; }
  friend auto operator<=>(Dual a, Dual b) { return a.v <=> b.v; }

  friend Dual sqrt(Dual a) { return {std::sqrt(a.v), a.d / (2 * std::sqrt(a.v))}; }
  friend Dual exp(Dual a) { return {std::exp(a.v), std::exp(a.v) * a.d}; }
  friend Dual exp2(Dual a) { return {std::exp2(a.v), std::exp2(a.v) * a.d * 0.69314718055994531}; }
  friend Dual log(Dual a) { return {std::log(a.v), a.d / a.v}; }
  friend Dual tanh(Dual a) {
    const double t = std::tanh(a.v);
    return {t, (1 - t * t) * a.d};
  }
  friend Dual erf(Dual a) {
    return {std::erf(a.v), 1.1283791670955126 * std::exp(-a.v * a.v) * a.d};
  }
  friend Dual sin(Dual a) { return {std::sin(a.v), std::cos(a.v) * a.d}; }
  friend Dual cos(Dual a) { return {std::cos(a.v), -std::sin(a.v) * a.d}; }
  friend Dual abs(Dual a) { return a.v < 0 ? -a : a; }
};

}  // namespace rapt::testing

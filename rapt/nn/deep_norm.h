// The constants of DeepNorm (Wang et al., 2022, "DeepNet", figure 2), with which hundreds of layers
// train: y = Norm(alpha x + f(x)), and beta is the gain of the value, output and feed-forward
// matrices when they are drawn. docs/math/residual.md says why.
#pragma once
#include <cmath>
#include <cstddef>

namespace rapt::nn {

struct DeepNorm {
  float alpha = 1, beta = 1;

  // A stack of n layers by itself: alpha = (2 n)^(1/4), beta = (8 n)^(-1/4).
  static DeepNorm alone(size_t n) { return of(fourth_root(2 * real(n)), fourth_root(8 * real(n))); }
  // An encoder of n layers below a decoder of m: with r = (n^4 m)^(1/16), alpha = 0.81 r,
  // beta = 0.87 / r.
  static DeepNorm encoder(size_t n, size_t m) {
    const double r = fourth_root(real(n) * fourth_root(real(m)));
    return of(0.81 * r, r / 0.87);
  }
  // A decoder of m layers that reads an encoder: alpha = (3 m)^(1/4), beta = (12 m)^(-1/4).
  static DeepNorm decoder(size_t m) {
    return of(fourth_root(3 * real(m)), fourth_root(12 * real(m)));
  }

 private:
  static DeepNorm of(double alpha, double inverse_beta) {
    return {static_cast<float>(alpha), static_cast<float>(1 / inverse_beta)};
  }
  static double real(size_t n) { return static_cast<double>(n); }
  static double fourth_root(double x) { return std::sqrt(std::sqrt(x)); }  // exact everywhere
};

}  // namespace rapt::nn

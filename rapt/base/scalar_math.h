// exp, log, pow, sin, cos and tanh in double precision from + - * / sqrt and fma alone. Each of
// those is correctly rounded by IEEE 754, so these have the same bits on every machine, which no
// libm promises. They serve what is computed once and then kept: initial weights, sinusoids,
// rotary tables, learning rates, len^alpha. Kernels have their own float versions.
//
//   function  range                                     error, in units in the last place
//   exp       all; below 2^-1022 the result is 0        <= 1
//   log       all; a denormal counts as 0               <= 1
//   pow       all; below 2^-1022 the result is 0        <= 1
//   sin, cos  |x| <= 2^30, NaN beyond                   <= 1
//   tanh      all                                       <= 1
//
// NaN gives NaN, infinities and zeros behave as in <cmath>, except pow(NaN, 0) = pow(1, NaN) = NaN.
// The method is the classical one (Cody and Waite, 1980; Tang, 1989): reduce the argument in two
// doubles, sum a Taylor polynomial, and keep the rounding error of what matters in a second double.
#pragma once

namespace rapt::scalar {

inline constexpr double kPi = 0x1.921fb54442d18p+1;
inline constexpr double kLn2 = 0x1.62e42fefa39efp-1;
inline constexpr double kLn10 = 0x1.26bb1bbb55516p+1;

double exp(double x);
double log(double x);
double pow(double x, double y);  // x < 0 needs an integer y, else NaN
double sin(double x);
double cos(double x);
double tanh(double x);

}  // namespace rapt::scalar

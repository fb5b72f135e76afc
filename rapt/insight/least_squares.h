// How much of y a linear read-out of x recovers: the share of the variance of y that the best map
// y = x W + b explains,
//   R^2 = 1 - sum |y - (x W + b)|^2 / sum |y - mean(y)|^2
// fitted on the first rows and measured on the others, which may make it less than 0. The fit has a
// small ridge: what is below a thousandth of the spread of x counts as lost.
#pragma once
#include "rapt/base/matrix_view.h"

namespace rapt::insight {

// Both have the same rows, of which `fitted` >= 1, not all, are fitted.
double read_out(MatrixView<const float> x, MatrixView<const float> y, size_t fitted);

}  // namespace rapt::insight

// What the tests of activations share: all of them, and two sentences with dropout.
#pragma once
#include "rapt/base/lengths.h"
#include "rapt/kernels/activation.h"
#include "rapt/ops/dropout.h"

namespace rapt::testing {

using kernels::Activation;
inline constexpr Activation kAll[] = {Activation::kNone, Activation::kRelu,
                                      Activation::kGelu, Activation::kGeluTanh,
                                      Activation::kSilu, Activation::kSigmoid};
inline constexpr size_t kRows = 70;
inline const Dropout kDropout{0.3, 99};

inline Lengths sentences() { return Lengths({{3, 30, 0}, {4, 40, 7}}); }

}  // namespace rapt::testing

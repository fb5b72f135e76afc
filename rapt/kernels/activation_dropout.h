// An activation and dropout of its result in one pass over the rows:
//   y = m * act(x)        dx = m * dy * act'(x)        m: the factors of dropout (dropout.h)
#pragma once
#include "rapt/kernels/activation.h"
#include "rapt/kernels/dropout.h"

namespace rapt::kernels {

// y may alias x.
void activation_dropout(Activation activation, MatrixView<const float> x, const RowDropout& dropout,
                        MatrixView<float> y, Pool& pool);

// `saved` is what saved_for() names: y, which is 0 where dropout was, or x. dx may alias dy.
void activation_dropout_backward(Activation activation, MatrixView<const float> saved,
                                 MatrixView<const float> dy, const RowDropout& dropout,
                                 MatrixView<float> dx, Pool& pool);

}  // namespace rapt::kernels

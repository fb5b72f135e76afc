// The product of two projections, one of them through an activation, with dropout of the result in
// the same pass over the rows: the gated linear unit and its family (Dauphin et al., 2017; Shazeer,
// 2020; derivation in docs/math/gated.md).
//   y  = m * act(a) * b                     m: the factors of dropout (dropout.h)
//   da = m * dy * b * act'(a)               db = m * dy * act(a)
#pragma once
#include "rapt/kernels/activation.h"
#include "rapt/kernels/dropout.h"

namespace rapt::kernels {

// y may alias a or b.
void gated(Activation activation, MatrixView<const float> a, MatrixView<const float> b,
           const RowDropout& dropout, MatrixView<float> y, Pool& pool);

// da and db may alias dy.
void gated_backward(Activation activation, MatrixView<const float> a, MatrixView<const float> b,
                    MatrixView<const float> dy, const RowDropout& dropout, MatrixView<float> da,
                    MatrixView<float> db, Pool& pool);

}  // namespace rapt::kernels

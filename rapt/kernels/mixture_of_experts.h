// The parts of a mixture of experts; derivations in docs/math/mixture_of_experts.md.
//   top_k           the k largest values of a row, and where they are
//   combine         y = w_0 x_0, then y = fma(w_i, x_i, y) for i = 1 … k - 1
//                   dx_i = w_i dy        dw_i = sum(x_i * dy)
//   expert_balance  y = N sum over c of load_c mean over rows of p_rc        N columns
//                   dp_rc = dy N load_c / rows
// A row has the same bits in any batch; the mean adds rows by blocks, in block order.
#pragma once
#include <cstdint>
#include <span>

#include "rapt/base/matrix_view.h"
#include "rapt/parallel/pool.h"

namespace rapt::kernels {

// values [rows, k] and their columns, ascending; of equal values those of the lower columns are
// taken, and NaN counts as the largest.
void top_k(MatrixView<const float> x, MatrixView<float> values, std::span<int32_t> index,
           Pool& pool);
// dx is dy where a value was taken, else 0.
void top_k_backward(MatrixView<const float> dy, std::span<const int32_t> index,
                    MatrixView<float> dx, Pool& pool);

// weights [rows, k], y [rows, d]; x: rows * k pointers to rows of d, those of a row one after another.
void combine(std::span<float* const> x, MatrixView<const float> weights, MatrixView<float> y,
             Pool& pool);
// Writes dweights, and each row of dx, of which no two are the same.
void combine_backward(std::span<float* const> x, MatrixView<const float> weights,
                      MatrixView<const float> dy, std::span<float* const> dx,
                      MatrixView<float> dweights, Pool& pool);

// partial: one row for each block of kRowBlock rows of p.
float expert_balance(MatrixView<const float> p, std::span<const float> load,
                     MatrixView<float> partial, Pool& pool);
void expert_balance_backward(std::span<const float> load, float dy, MatrixView<float> dp,
                             Pool& pool);

}  // namespace rapt::kernels

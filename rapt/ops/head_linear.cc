#include "rapt/ops/head_linear.h"

#include "rapt/kernels/gemm.h"

namespace rapt::ops {

using kernels::Op;

Var head_linear(Context& ctx, const Heads& x, const Var& w) {
  x.check_fits("head_linear", "x");
  check(w.shape().rank() == 3 && w.shape()[0] == x.count && w.shape()[2] == x.dim,
        "head_linear: W is ", w.shape(), ", expected [", x.count, ", out, ", x.dim, "]");
  const size_t out = w.shape()[1];
  const auto input = [](const Columns& from, size_t h, size_t dim) {
    return from.x.matrix().slice_cols(from.first + h * dim, from.first + (h + 1) * dim);
  };
  const auto weight = [out](const Tensor& t, size_t h) {
    return t.matrix().slice_rows(h * out, (h + 1) * out);
  };
  const auto part = [](const Tensor& t, size_t h, size_t width) {
    return t.matrix().slice_cols(h * width, (h + 1) * width);
  };
  const Tensor y = ctx.empty({x.rows.rows(), x.count * out});
  for (size_t h = 0; h < x.count; ++h) {
    kernels::gemm(
        {.op = Op::kNT, .a = input(x.x, h, x.dim), .b = weight(w.value(), h), .c = part(y, h, out)},
        ctx.pool());
  }
  return ctx.record("head_linear", y, [=](const Tensor& dy, Grads& grads) {
    const Tensor dx = grads.empty({x.rows.rows(), x.width()}), dw = grads.of(w);
    for (size_t h = 0; h < x.count; ++h) {
      kernels::gemm({.op = Op::kTN,
                     .a = part(dy, h, out),
                     .b = input(x.x, h, x.dim),
                     .c = weight(dw, h),
                     .accumulate = true},
                    grads.pool());
      kernels::gemm({.op = Op::kNN,
                     .a = part(dy, h, out),
                     .b = weight(w.value(), h),
                     .c = part(dx, h, x.dim)},
                    grads.pool());
    }
    add_columns(grads, x.x, dx);
  });
}

}  // namespace rapt::ops

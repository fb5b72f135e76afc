#include "rapt/ops/unit_rows.h"

#include "rapt/kernels/unit_rows.h"

namespace rapt::ops {

Var unit_rows(Context& ctx, const Heads& x, const Var* gain, float eps) {
  x.check_fits("unit_rows", "x");
  check(gain == nullptr || gain->shape() == Shape{x.count}, "unit_rows: gain is ",
        gain == nullptr ? Shape{} : gain->shape(), ", expected ", Shape{x.count});
  const auto columns = [x] { return x.x.x.matrix().slice_cols(x.x.first, x.x.first + x.width()); };
  const Var g = gain == nullptr ? Var() : *gain;
  const auto gains = [=] { return g.value().empty() ? std::span<float>() : g.span(); };
  const size_t rows = x.rows.rows();
  const Tensor y = ctx.empty({rows, x.width()}), inverse = ctx.empty({rows, x.count});
  kernels::unit_rows(columns(), gains(), eps, y.matrix(), inverse.matrix(), ctx.pool());
  return ctx.record("unit_rows", y, [=](const Tensor& dy, Grads& grads) {
    const Tensor dx = grads.empty(dy.shape());
    const bool has_gain = !g.value().empty();
    kernels::unit_rows_backward(
        columns(), gains(), inverse.matrix(), dy.matrix(), dx.matrix(),
        has_gain ? grads.of(g).span() : std::span<float>(),
        has_gain ? grads.partial(rows, x.count).matrix() : MatrixView<float>(), grads.pool());
    add_columns(grads, x.x, dx);
  });
}

}  // namespace rapt::ops

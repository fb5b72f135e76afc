#include "rapt/ops/add.h"

#include "rapt/kernels/elementwise.h"

namespace rapt::ops {

Var add(Context& ctx, const Var& a, const Var& b) {
  check(a.shape() == b.shape(), "add: a is ", a.shape(), ", b is ", b.shape());
  const Tensor y = ctx.empty(a.shape());
  kernels::add(a.span(), b.span(), y.span(), ctx.pool());
  return ctx.record("add", y, [a = a.place(), b = b.place()](const Tensor& dy, Grads& grads) {
    grads.add(a, dy);
    grads.add(b, dy);
  });
}

}  // namespace rapt::ops

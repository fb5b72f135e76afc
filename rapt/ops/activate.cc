#include "rapt/ops/activate.h"

#include "rapt/kernels/activation_dropout.h"
#include "rapt/ops/dropout_bits.h"

namespace rapt::ops {

using kernels::Activation;
using kernels::Saved;

namespace {

Var activate(Context& ctx, const Var& x, Activation activation, const DropoutBits& bits) {
  const Tensor y = ctx.empty(x.shape());
  kernels::activation_dropout(activation, x.matrix(), bits.of_rows(), y.matrix(), ctx.pool());
  const Saved kind = saved_for(activation);
  const Tensor saved = kind == Saved::kOutput ? y : kind == Saved::kInput ? x.value() : Tensor();
  return ctx.record("activate", y, [=, x = x.place()](const Tensor& dy, Grads& grads) {
    const Tensor dx = grads.empty(x);
    kernels::activation_dropout_backward(activation, saved.matrix(), dy.matrix(), bits.of_rows(),
                                         dx.matrix(), grads.pool());
    grads.add(x, dx);
  });
}

}  // namespace

Var activate(Context& ctx, const Var& x, Activation activation) {
  return activate(ctx, x, activation, DropoutBits());
}

Var activate(Context& ctx, const Var& x, Activation activation, const Dropout& dropout,
             const Lengths& lengths) {
  return activate(ctx, x, activation, DropoutBits(ctx, "activate", dropout, lengths, x.rows()));
}

}  // namespace rapt::ops

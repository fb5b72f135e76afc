#include "rapt/ops/linear.h"

#include "rapt/base/check.h"

namespace rapt::ops {
namespace {

using kernels::Activation;
using kernels::Gemm;
using kernels::Saved;

void check_shapes(const Var& x, size_t out, size_t in, const Shape* bias) {
  check(x.cols() == in, "linear: x is ", x.shape(), ", expected [rows, ", in, "]");
  check(bias == nullptr || *bias == Shape{out}, "linear: bias is ", bias ? *bias : Shape{},
        ", expected ", Shape{out});
}

// All but the weight.
Gemm product(const Var& x, const Tensor& y, const Tensor* bias, Activation activation) {
  return {.op = kernels::Op::kNT,
          .a = x.matrix(),
          .b = {},
          .c = y.matrix(),
          .bias = bias == nullptr ? std::span<const float>() : bias->span(),
          .activation = activation};
}

}  // namespace

Var linear(Context& ctx, const Var& x, const Weight& w, const Parameter* bias,
           Activation activation) {
  if (!ctx.records() && w.packed()) {
    check_shapes(x, w.out(), w.in(), bias ? &bias->value.shape() : nullptr);
    const Tensor y = ctx.empty({x.rows(), w.out()});
    kernels::gemm(product(x, y, bias ? &bias->value : nullptr, activation), w.packed_form(),
                  ctx.pool());
    return ctx.record("linear", y, [](const Tensor&, Grads&) {});
  }
  const Var weight = ctx.leaf(w.unpacked());
  if (bias == nullptr) return linear(ctx, x, weight, nullptr, activation);
  const Var b = ctx.leaf(bias->value);
  return linear(ctx, x, weight, &b, activation);
}

Var linear(Context& ctx, const Var& x, const Var& w, const Var* bias, Activation activation) {
  check(w.shape().rank() == 2, "linear: W is ", w.shape(), ", expected [out, in]");
  const size_t out = w.rows();
  check_shapes(x, out, w.cols(), bias ? &bias->shape() : nullptr);

  const Tensor y = ctx.empty({x.rows(), out});
  Gemm g = product(x, y, bias ? &bias->value() : nullptr, activation);
  g.b = w.matrix();
  const Saved kind = saved_for(activation);
  Tensor saved;
  if (ctx.records() && kind == Saved::kInput) {
    saved = ctx.empty(y.shape());
    g.pre_activation = saved.matrix();
  } else if (kind == Saved::kOutput) {
    saved = y;
  }
  kernels::gemm(g, ctx.pool());

  return ctx.record("linear", y, [=, b = bias ? *bias : Var()](const Tensor& dy, Grads& grads) {
    const bool plain = activation == Activation::kNone, wants_bias = grads.wants(b);
    const Tensor dz = plain ? dy : grads.empty(dy.shape());
    const Tensor partial = wants_bias ? grads.partial(x.rows(), out) : Tensor();
    kernels::activation_backward(
        activation, saved.matrix(), dy.matrix(), dz.matrix(), partial.matrix(),
        wants_bias ? grads.of(b).span() : std::span<float>(), grads.pool());
    if (grads.wants(w)) {
      kernels::gemm({.op = kernels::Op::kTN,
                     .a = dz.matrix(),
                     .b = x.matrix(),
                     .c = grads.of(w).matrix(),
                     .accumulate = true},
                    grads.pool());
    }
    if (grads.wants(x)) {
      const Tensor dx = grads.empty(x);
      kernels::gemm({.op = kernels::Op::kNN, .a = dz.matrix(), .b = w.matrix(), .c = dx.matrix()},
                    grads.pool());
      grads.add(x, dx);
    }
  });
}

}  // namespace rapt::ops

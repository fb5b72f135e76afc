#include "rapt/ops/linear.h"

#include "rapt/base/check.h"

namespace rapt::ops {
namespace {

using kernels::Activation;
using kernels::Gemm;
using kernels::Saved;

void check_shapes(const Var& x, size_t out, size_t in, const Shape* bias, Rows part) {
  check(x.cols() == in, "linear: x is ", x.shape(), ", expected [rows, ", in, "]");
  check(bias == nullptr || *bias == Shape{out}, "linear: bias is ", bias ? *bias : Shape{},
        ", expected ", Shape{out});
  check(part.first < part.last && part.last <= out, "linear: rows ", part.first, " to ", part.last,
        " of a matrix that has ", out);
}

// All but the weight.
Gemm product(const Var& x, const Tensor& y, const Tensor* bias, Rows part, Activation activation) {
  return {.op = kernels::Op::kNT,
          .a = x.matrix(),
          .b = {},
          .c = y.matrix(),
          .bias = bias == nullptr ? std::span<const float>()
                                  : bias->span().subspan(part.first, part.last - part.first),
          .activation = activation};
}

Var linear(Context& ctx, const Var& x, const Var& w, const Var* bias, Rows part,
           Activation activation);

Var linear(Context& ctx, const Var& x, const Weight& w, const Parameter* bias, Rows part,
           Activation activation) {
  if (!ctx.records() && w.packed()) {
    check_shapes(x, w.out(), w.in(), bias ? &bias->value.shape() : nullptr, part);
    check(part.first % kernels::PackedB::kWidth == 0, "linear: ", w.name,
          " is packed in panels of ", kernels::PackedB::kWidth, " rows, none starts at row ",
          part.first);
    const Tensor y = ctx.empty({x.rows(), part.last - part.first});
    kernels::gemm(product(x, y, bias ? &bias->value : nullptr, part, activation),
                  w.packed_form().columns(part.first, part.last), ctx.pool());
    return ctx.record("linear", y, [](const Tensor&, Grads&) {});
  }
  const Var weight = ctx.leaf(w.unpacked());
  if (bias == nullptr) return linear(ctx, x, weight, nullptr, part, activation);
  const Var b = ctx.leaf(bias->value);
  return linear(ctx, x, weight, &b, part, activation);
}

Var linear(Context& ctx, const Var& x, const Var& w, const Var* bias, Rows part,
           Activation activation) {
  check(w.shape().rank() == 2, "linear: W is ", w.shape(), ", expected [out, in]");
  check_shapes(x, w.rows(), w.cols(), bias ? &bias->shape() : nullptr, part);

  const size_t out = part.last - part.first;
  const auto rows_of = [part](const Var& v) {
    return v.matrix().slice_rows(part.first, part.last);
  };
  const Tensor y = ctx.empty({x.rows(), out});
  Gemm g = product(x, y, bias ? &bias->value() : nullptr, part, activation);
  g.b = rows_of(w);
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
        wants_bias ? grads.of(b).span().subspan(part.first, out) : std::span<float>(),
        grads.pool());
    if (grads.wants(w)) {
      kernels::gemm({.op = kernels::Op::kTN,
                     .a = dz.matrix(),
                     .b = x.matrix(),
                     .c = rows_of(grads.of(w)),
                     .accumulate = true},
                    grads.pool());
    }
    if (grads.wants(x)) {
      const Tensor dx = grads.empty(x);
      kernels::gemm({.op = kernels::Op::kNN, .a = dz.matrix(), .b = rows_of(w), .c = dx.matrix()},
                    grads.pool());
      grads.add(x, dx);
    }
  });
}

}  // namespace

Var linear(Context& ctx, const Var& x, const Weight& w, const Parameter* bias,
           Activation activation) {
  return linear(ctx, x, w, bias, Rows{0, w.out()}, activation);
}

Var linear_part(Context& ctx, const Var& x, const Weight& w, const Parameter* bias, Rows part) {
  return linear(ctx, x, w, bias, part, Activation::kNone);
}

Var linear(Context& ctx, const Var& x, const Var& w, const Var* bias, Activation activation) {
  return linear(ctx, x, w, bias, Rows{0, w.shape().rank() == 2 ? w.rows() : 0}, activation);
}

}  // namespace rapt::ops

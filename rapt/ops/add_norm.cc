#include "rapt/ops/add_norm.h"

#include "rapt/kernels/add_norm.h"
#include "rapt/ops/dropout_bits.h"

namespace rapt::ops {
namespace {

void check_sum(const char* op, const Var& x, const Var& sub) {
  check(sub.shape() == x.shape(), op, ": sub is ", sub.shape(), ", expected ", x.shape());
}

// dsub = m * ds and dx = ds.
void add_gradient(const Var& x, const Var& sub, const DropoutBits& bits, const Tensor& ds,
                  Grads& grads) {
  grads.add(x, ds);
  if (!bits.on()) return grads.add(sub, ds);
  const Tensor dsub = grads.empty(sub);
  kernels::dropout(ds.matrix(), bits.of_rows(), dsub.matrix(), grads.pool());
  grads.add(sub, dsub);
}

// What both orders share.
struct AddNorm {
  AddNorm(Context& ctx, const char* op, const Var& x, const Var& sub, const Var& gamma,
          const Var& beta, float eps, const Dropout& dropout, const Lengths& lengths, float alpha,
          bool keep_s)
      : alpha(alpha),
        x(x.place()),
        sub(sub.place()),
        gamma(gamma),
        beta(beta.place()),
        bits(ctx, op, dropout, lengths, x.rows()),
        mean(ctx.empty({x.rows()})),
        rstd(ctx.empty({x.rows()})) {
    const Shape d = {x.shape().back()};
    check_sum(op, x, sub);
    check(gamma.shape() == d, op, ": gamma is ", gamma.shape(), ", expected ", d);
    check(beta.shape() == d, op, ": beta is ", beta.shape(), ", expected ", d);
    y = ctx.empty(x.shape());
    s = keep_s ? ctx.empty(x.shape()) : y;
    kernels::add_norm(alpha, x.matrix(), sub.matrix(), bits.of_rows(), gamma.span(), beta.span(),
                      eps, s.matrix(), y.matrix(), stats(), ctx.pool());
  }

  kernels::NormStats stats() const { return {mean.span(), rstd.span()}; }

  // ds: the gradient of s on other ways, or empty.
  void backward(const Tensor& dy, const Tensor& ds, Grads& grads) const {
    if (dy.empty()) return add_gradient(x, sub, bits, ds, grads);
    const Tensor dx = grads.empty(x);
    const bool shared = kernels::add_norm_shares_gradient(alpha, bits.of_rows());
    const Tensor dsub = shared ? dx : grads.empty(sub);
    kernels::add_norm_backward(
        alpha, s.matrix(), gamma.span(), stats(), dy.matrix(),
        ds.empty() ? MatrixView<float>() : ds.matrix(), bits.of_rows(),
        {dx.matrix(), dsub.matrix(), grads.of(gamma).span(), grads.of(beta).span(),
         grads.partial(s.rows(), 2 * s.cols()).matrix()},
        grads.pool());
    grads.add(x, dx);
    grads.add(sub, dsub);
  }

  float alpha;
  Var x, sub, gamma, beta;
  DropoutBits bits;
  Tensor mean, rstd, s, y;
};

}  // namespace

Var add_norm(Context& ctx, const Var& x, const Var& sub, const Var& gamma, const Var& beta,
             float eps, const Dropout& dropout, const Lengths& lengths, float alpha) {
  AddNorm op(ctx, "add_norm", x, sub, gamma, beta, eps, dropout, lengths, alpha, ctx.records());
  Tensor y = std::move(op.y);  // backward reads s alone
  return ctx.record("add_norm", std::move(y), [op = std::move(op)](const Tensor& dy, Grads& grads) {
    op.backward(dy, Tensor(), grads);
  });
}

std::array<Var, 2> add_then_norm(Context& ctx, const Var& x, const Var& sub, const Var& gamma,
                                 const Var& beta, float eps, const Dropout& dropout,
                                 const Lengths& lengths) {
  AddNorm op(ctx, "add_then_norm", x, sub, gamma, beta, eps, dropout, lengths, 1, true);
  std::array ys{op.s, std::move(op.y)};
  return ctx.record("add_then_norm", std::move(ys),
                    [op = std::move(op)](std::span<const Tensor> dys, Grads& grads) {
                      op.backward(dys[1], dys[0], grads);
                    });
}

Var add_dropout(Context& ctx, const Var& x, const Var& sub, const Dropout& dropout,
                const Lengths& lengths) {
  check_sum("add_dropout", x, sub);
  const DropoutBits bits(ctx, "add_dropout", dropout, lengths, x.rows());
  const Tensor s = ctx.empty(x.shape());
  kernels::add_dropout(x.matrix(), sub.matrix(), bits.of_rows(), s.matrix(), ctx.pool());
  return ctx.record("add_dropout", s,
                    [x = x.place(), sub = sub.place(), bits](const Tensor& ds, Grads& grads) {
                      add_gradient(x, sub, bits, ds, grads);
                    });
}

}  // namespace rapt::ops

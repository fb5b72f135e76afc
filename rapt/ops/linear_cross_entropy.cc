#include "rapt/ops/linear_cross_entropy.h"

#include <algorithm>

#include "rapt/base/check.h"
#include "rapt/kernels/activation.h"
#include "rapt/kernels/cross_entropy.h"
#include "rapt/kernels/elementwise.h"
#include "rapt/kernels/gemm.h"

namespace rapt::ops {
namespace {

using kernels::Gemm;
using kernels::Op;

// Rows whose logits are in memory at once. Part of the bits: the gradient of W adds one product a
// chunk, in order. A multiple of kRowBlock.
constexpr size_t kChunk = 512;
static_assert(kChunk % kRowBlock == 0);

// The matrix of the projection, in one of its forms.
struct Projection {
  size_t classes, in;
  const Tensor* matrix;  // or null:
  const kernels::PackedB* packed;
  std::span<const float> bias;

  void operator()(MatrixView<const float> x, MatrixView<float> z, Pool& pool) const {
    Gemm g{.op = Op::kNT, .a = x, .b = {}, .c = z, .bias = bias};
    if (packed != nullptr) return kernels::gemm(g, *packed, pool);
    g.b = matrix->matrix();
    kernels::gemm(g, pool);
  }
};

void check_arguments(const Var& x, const Projection& p, bool has_bias, const Shape& bias,
                     std::span<const int32_t> targets, const LossOptions& options) {
  check(x.cols() == p.in, "linear_cross_entropy: x is ", x.shape(), ", expected [rows, ", p.in,
        "]");
  check(!has_bias || bias == Shape{p.classes}, "linear_cross_entropy: bias is ", bias,
        ", expected ", Shape{p.classes});
  check(targets.size() == x.rows(), "linear_cross_entropy: ", targets.size(), " targets for ",
        x.rows(), " rows");
  check(options.smoothing >= 0 && options.smoothing < 1, "linear_cross_entropy: smoothing is ",
        options.smoothing, ", expected at least 0 and less than 1");
  for (size_t r = 0; r < targets.size(); ++r) {
    check(targets[r] >= 0 && static_cast<size_t>(targets[r]) < p.classes,
          "linear_cross_entropy: target ", targets[r], " of row ", r, " is not one of the ",
          p.classes, " classes");
  }
}

kernels::SmoothingWeights weights_of(const LossOptions& options, size_t classes) {
  const float eps = options.smoothing, v = static_cast<float>(classes);
  if (options.formula == Smoothing::kPytorch) return {.e = eps, .u = eps / v};
  const float u = classes > 1 ? eps / (v - 1) : 0;
  return {.e = classes > 1 ? eps + u : 0, .u = u};
}

// Gradients of the sum of the losses; empty where none is wanted.
struct Gradients {
  Tensor x, w, b;
  bool wanted() const { return !x.empty() || !w.empty() || !b.empty(); }
};

// One chunk: z holds dz.
void add_gradients(Context& ctx, MatrixView<const float> x, MatrixView<float> z, const Tensor* w,
                   size_t first, const Gradients& gradients) {
  if (!gradients.x.empty()) {
    kernels::gemm({.op = Op::kNN,
                   .a = z,
                   .b = w->matrix(),
                   .c = gradients.x.matrix().slice_rows(first, first + z.rows())},
                  ctx.pool());
  }
  if (!gradients.w.empty()) {
    kernels::gemm(
        {.op = Op::kTN, .a = z, .b = x, .c = gradients.w.matrix(), .accumulate = first != 0},
        ctx.pool());
  }
  if (!gradients.b.empty()) {
    const Tensor partial = ctx.empty({row_block_count(z.rows()), z.cols()});
    kernels::activation_backward(kernels::Activation::kNone, {}, z, {}, partial.matrix(),
                                 gradients.b.span(), ctx.pool());
  }
}

struct Sums {
  Tensor objective, nll;
};

Sums run_chunks(Context& ctx, const Var& x, Projection projection, std::span<const int32_t> targets,
                const LossOptions& options, const Gradients& gradients) {
  const size_t rows = x.rows();
  Tensor memory;
  kernels::PackedB packed;
  if (projection.packed == nullptr && rows > kChunk) {  // each product would pack it again
    memory = ctx.empty({kernels::PackedB::floats(projection.classes, projection.in)});
    packed = kernels::pack_b(Op::kNT, projection.matrix->matrix(), memory.span(), ctx.pool());
    projection.packed = &packed;
  }
  const Tensor logits = ctx.empty({std::min(kChunk, rows), projection.classes});
  const Buffer<double> smoothed = ctx.buffer<double>(rows), nll = ctx.buffer<double>(rows);
  const kernels::SmoothingWeights weights = weights_of(options, projection.classes);
  for (size_t first = 0; first < rows; first += kChunk) {
    const size_t n = std::min(kChunk, rows - first);
    const MatrixView<const float> part = x.matrix().slice_rows(first, first + n);
    const MatrixView<float> z = logits.matrix().slice_rows(0, n);
    projection(part, z, ctx.pool());
    kernels::cross_entropy(z, targets.subspan(first, n), weights, gradients.wanted(),
                           {smoothed.span().subspan(first, n), nll.span().subspan(first, n)},
                           ctx.pool());
    if (gradients.wanted()) add_gradients(ctx, part, z, projection.matrix, first, gradients);
  }
  const auto scalar = [&](std::span<const double> values) {
    const Tensor t = ctx.empty({});
    t.span()[0] = static_cast<float>(kernels::sum_of_rows(values));
    return t;
  };
  return {scalar(smoothed.span()), scalar(nll.span())};
}

}  // namespace

CrossEntropy linear_cross_entropy(Context& ctx, const Var& x, const Weight& w,
                                  const Parameter* bias, std::span<const int32_t> targets,
                                  const LossOptions& options) {
  if (!ctx.records() && w.packed()) {
    const Projection projection{w.out(), w.in(), nullptr, &w.packed_form(),
                                bias ? bias->value.span() : std::span<const float>()};
    check_arguments(x, projection, bias, bias ? bias->value.shape() : Shape(), targets, options);
    const Sums sums = run_chunks(ctx, x, projection, targets, options, {});
    return {sums.objective, sums.nll};
  }
  const Var weight = ctx.leaf(w.unpacked());
  if (bias == nullptr) return linear_cross_entropy(ctx, x, weight, nullptr, targets, options);
  const Var b = ctx.leaf(bias->value);
  return linear_cross_entropy(ctx, x, weight, &b, targets, options);
}

CrossEntropy linear_cross_entropy(Context& ctx, const Var& x, const Var& w, const Var* bias,
                                  std::span<const int32_t> targets, const LossOptions& options) {
  check(w.shape().rank() == 2, "linear_cross_entropy: W is ", w.shape(), ", expected [V, in]");
  const Projection projection{w.rows(), w.cols(), &w.value(), nullptr,
                              bias ? bias->span() : std::span<const float>()};
  check_arguments(x, projection, bias, bias ? bias->shape() : Shape(), targets, options);

  const Var b = bias ? *bias : Var();
  const auto wanted = [&](const Var& v, bool zero) {
    if (!ctx.records() || v.constant()) return Tensor();
    const Tensor t = ctx.empty(v.shape());
    if (zero || x.rows() == 0) std::ranges::fill(t.span(), 0.0f);
    return t;
  };
  const Gradients gradients{wanted(x, false), wanted(w, false), wanted(b, true)};
  const Sums sums = run_chunks(ctx, x, projection, targets, options, gradients);

  const Var objective =
      ctx.record("linear_cross_entropy", sums.objective, [=](const Tensor& dy, Grads& grads) {
        const float factor = dy.host()[0];
        const auto add = [&](const Var& v, const Tensor& gradient) {
          if (gradient.empty()) return;
          kernels::add_scaled(factor, gradient.span(), grads.of(v).span(), grads.pool());
        };
        add(w, gradients.w);
        add(b, gradients.b);
        if (gradients.x.empty()) return;
        kernels::scale(gradients.x.span(), factor, gradients.x.span(), grads.pool());
        grads.add(x, gradients.x);
      });
  return {objective, sums.nll};
}

}  // namespace rapt::ops

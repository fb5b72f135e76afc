#include "rapt/ops/additive_score.h"

#include "rapt/kernels/additive_score.h"
#include "rapt/kernels/partials.h"

namespace rapt::ops {
namespace {

using kernels::AdditiveScore;
using kernels::AdditiveScoreGrad;

// Of each sentence its heads: number s * q.count + h.
Buffer<AdditiveScore> heads_of(Buffer<AdditiveScore> all, const Heads& q, const Heads& k,
                               const Var& v) {
  const size_t group = q.count / k.count;
  for (size_t i = 0; i < all.size(); ++i) {
    const size_t s = i / q.count, h = i % q.count;
    new (&all[i]) AdditiveScore{q.of(q.x.x.value(), s, h), k.of(k.x.x.value(), s, h / group),
                                v.matrix().row(h)};
  }
  return all;
}

}  // namespace

Var additive_score(Context& ctx, const Heads& q, const Heads& k, const Var& v) {
  q.check_fits("additive_score", "q");
  k.check_fits("additive_score", "k");
  check(q.rows.sequences() == k.rows.sequences(), "additive_score: ", q.rows.sequences(),
        " sequences of queries and ", k.rows.sequences(), " of keys");
  check(q.count % k.count == 0 && q.dim == k.dim, "additive_score: q is ", q.count, " heads of ",
        q.dim, ", k ", k.count, " of ", k.dim);
  check(v.shape() == Shape{q.count, q.dim}, "additive_score: v is ", v.shape(), ", expected ",
        Shape{q.count, q.dim});

  const size_t blocks = q.rows.sequences() * q.count;
  const Tensor table = make_table(ctx, q.count, q.rows, k.rows);
  const Buffer<AdditiveScore> heads = heads_of(ctx.buffer<AdditiveScore>(blocks), q, k, v);
  const Buffer<MatrixView<float>> scores = ctx.buffer<MatrixView<float>>(blocks);
  for (size_t i = 0; i < blocks; ++i) {
    new (&scores[i])
        MatrixView<float>(table_block(table, q.rows, k.rows, i / q.count, i % q.count));
  }
  kernels::additive_score(heads.span(), scores.span(), ctx.pool());

  return ctx.record("additive_score", table, [=](const Tensor& dy, Grads& grads) {
    const size_t group = q.count / k.count;
    const Heads dq{{grads.empty({q.rows.rows(), q.width()}), 0}, q.rows, q.count, q.dim};
    const Heads dk{{grads.empty({k.rows.rows(), k.width()}), 0}, k.rows, k.count, k.dim};
    const Tensor dv = grads.empty({q.rows.sequences(), q.width()});  // of each sentence
    const Buffer<AdditiveScoreGrad> of = grads.buffer<AdditiveScoreGrad>(blocks);
    for (size_t i = 0; i < blocks; ++i) {
      const size_t s = i / q.count, h = i % q.count;
      new (&of[i]) AdditiveScoreGrad{
          table_block(dy, q.rows, k.rows, s, h), dq.of(dq.x.x.value(), s, h),
          dk.of(dk.x.x.value(), s, h / group), dv.matrix().row(s).subspan(h * q.dim, q.dim)};
    }
    kernels::additive_score_backward(heads.span(), of.span(), group, grads.pool());
    kernels::add_partials(dv.matrix(), grads.of(v).span(), grads.pool());
    add_columns(grads, q.x, dq.x.x.value());
    add_columns(grads, k.x, dk.x.x.value());
  });
}

}  // namespace rapt::ops

#include "rapt/ops/attention.h"

#include <algorithm>
#include <array>
#include <optional>

#include "rapt/ops/attention_call.h"

namespace rapt::ops {
namespace {

using kernels::AttentionGrad;
using kernels::AttentionSequence;

struct Result {
  Tensor y, lse;
};
Result forward(Context& ctx, AttentionCall& call, const Lengths& queries) {
  const size_t rows = queries.rows();
  const Result result{ctx.empty({rows, call.a.out.row}), ctx.empty({call.a.heads, rows})};
  for (size_t s = 0; s < call.sequences.size(); ++s) {
    call.sequences[s].out = result.y.data() + queries.offset(s) * call.a.out.row;
    call.sequences[s].lse = result.lse.data() + queries.offset(s);
  }
  kernels::attention_forward(call.a, call.sequences.span(), call.plan.span(), ctx.pool());
  return result;
}

Tensor weights(Context& ctx, const AttentionCall& call) {
  size_t pairs = 0;
  for (const AttentionSequence& s : call.sequences.span()) pairs += size_t{s.queries} * s.keys;
  const Tensor p = ctx.empty({call.a.heads, pairs});
  const Buffer<float*> of = ctx.buffer<float*>(call.sequences.size());
  size_t before = 0;
  for (size_t s = 0; s < of.size(); ++s) {
    of[s] = p.data() + before;
    before += size_t{call.sequences[s].queries} * call.sequences[s].keys;
  }
  kernels::attention_weights(call.a, call.sequences.span(), of.span(), pairs, call.plan.span(),
                             ctx.pool());
  return p;
}

// The gradients of q, k and v: one matrix for those that are parts of one x and do not overlap.
class PartGradients {
 public:
  struct Part {
    const Columns* columns;
    size_t width;
  };
  PartGradients(const std::array<Part, 3>& parts, const Grads& grads) : parts_(parts) {
    for (size_t i = 0; i < 3; ++i) {
      owner_[i] = i;
      for (size_t j = 0; j < i && owner_[i] == i; ++j) {
        if (owner_[j] == j && fits(i, j)) owner_[i] = j;
      }
      dx_[i] = owner_[i] == i ? grads.empty(parts[i].columns->x) : dx_[owner_[i]];
    }
    for (size_t i = 0; i < 3; ++i) {
      size_t covered = 0;
      for (size_t j = 0; j < 3; ++j) covered += owner_[j] == i ? parts[j].width : 0;
      const bool gaps = owner_[i] == i && covered < dx_[i].cols();
      if (gaps) std::fill_n(dx_[i].data(), dx_[i].size(), 0.0f);
    }
  }
  float* of(size_t i, size_t row) const {
    return dx_[i].data() + row * dx_[i].cols() + parts_[i].columns->first;
  }
  void add_to(const Grads& grads) const {
    for (size_t i = 0; i < 3; ++i) {
      if (owner_[i] == i) grads.add(parts_[i].columns->x, dx_[i]);
    }
  }

 private:
  // Part i is of the same x as part j and overlaps none of the parts that share its gradient.
  bool fits(size_t i, size_t j) const {
    const Columns &a = *parts_[i].columns, &b = *parts_[j].columns;
    if (a.x.constant() || a.x.node() != b.x.node()) return false;
    for (size_t n = 0; n < i; ++n) {
      const size_t first = parts_[n].columns->first;
      const bool apart = a.first + parts_[i].width <= first || first + parts_[n].width <= a.first;
      if (owner_[n] == j && !apart) return false;
    }
    return true;
  }

  std::array<Part, 3> parts_;
  std::array<size_t, 3> owner_{};
  std::array<Tensor, 3> dx_;
};

struct Recorded {
  AttentionCall call;
  Columns q, k, v;
  Lengths queries, keys;
  std::optional<Var> bias, sink;
  bool has_scores;  // `bias` is a table of scores
  Result result;
};

void backward_sink(const Recorded& r, const Tensor& dsink, Grads& grads) {
  const Tensor total = grads.of(*r.sink);
  for (size_t s = 0; s < dsink.rows(); ++s) {
    for (size_t h = 0; h < dsink.cols(); ++h) total.data()[h] += dsink.matrix().row(s)[h];
  }
}

void backward_bias(const Recorded& r, std::span<const AttentionGrad> of, Grads& grads) {
  const Tensor total = grads.of(*r.bias);
  const BiasTable table(total, r.call, r.has_scores ? &r.queries : nullptr);
  const Buffer<float*> dbias = grads.buffer<float*>(of.size());
  for (size_t s = 0; s < of.size(); ++s) dbias[s] = table.of(total, r.call.sequences[s], s);
  kernels::attention_bias_backward(r.call.a, r.call.sequences.span(), of, dbias.span(),
                                   grads.pool());
}

void backward(const Recorded& r, const Tensor& dy, Grads& grads) {
  const kernels::Attention& a = r.call.a;
  const size_t sequences = r.call.sequences.size();
  const PartGradients dx(
      {{{&r.q, a.heads * a.dim}, {&r.k, a.kv_heads * a.dim}, {&r.v, a.kv_heads * a.dim_v}}}, grads);
  const Tensor dsink = grads.empty({sequences, a.heads});
  const Buffer<AttentionGrad> of = grads.buffer<AttentionGrad>(sequences);
  for (size_t s = 0; s < sequences; ++s) {
    const size_t query = r.queries.offset(s), key = r.keys.offset(s);
    of[s] = {dy.data() + query * a.out.row, dx.of(0, query), dx.of(1, key), dx.of(2, key),
             dsink.data() + s * a.heads};
  }
  kernels::attention_backward(a, r.call.sequences.span(), of.span(), r.call.plan.span(),
                              grads.pool());
  dx.add_to(grads);
  if (r.sink && grads.wants(*r.sink)) backward_sink(r, dsink, grads);
  if (r.bias && grads.wants(*r.bias)) backward_bias(r, of.span(), grads);
}

std::optional<Var> optional(const Var* x) {
  return x == nullptr ? std::nullopt : std::optional(*x);
}

Var record(Context& ctx, Recorded r) {
  r.result = forward(ctx, r.call, r.queries);
  const Tensor y = r.result.y;
  return ctx.record("attention", y,
                    [r = std::move(r)](const Tensor& dy, Grads& grads) { backward(r, dy, grads); });
}

Tensor record_cached(Context& ctx, AttentionCall& call, const Lengths& queries) {
  const Tensor y = forward(ctx, call, queries).y;
  return ctx.record("attention_cached", y, [](const Tensor&, Grads&) {}).value();
}

}  // namespace

Var attention(Context& ctx, const Columns& q, const Columns& k, const Columns& v,
              const Lengths& queries, const Lengths& keys, const AttentionArgs& args,
              const Var* bias, const Var* sink) {
  return record(ctx, {make_call(ctx, q, k, &v, queries, keys, args, bias, sink),
                      q,
                      k,
                      v,
                      queries,
                      keys,
                      optional(bias),
                      optional(sink),
                      false,
                      {}});
}

Var attention_of_scores(Context& ctx, const Var& scores, const Columns& v, const Lengths& queries,
                        const Lengths& keys, const AttentionArgs& args, const Var* sink) {
  return record(ctx, {make_scores_call(ctx, scores.value(), &v, queries, keys, args, sink),
                      {},
                      {},
                      v,
                      queries,
                      keys,
                      scores,
                      optional(sink),
                      true,
                      {}});
}

Tensor attention_weights(Context& ctx, const Columns& q, const Columns& k, const Lengths& queries,
                         const Lengths& keys, const AttentionArgs& args, const Var* bias,
                         const Var* sink) {
  return weights(ctx, make_call(ctx, q, k, nullptr, queries, keys, args, bias, sink));
}

Tensor attention_cached(Context& ctx, const Columns& q, const Lengths& queries,
                        std::span<const CachedKeys> keys, const AttentionArgs& args,
                        const Tensor* bias, const Tensor* sink) {
  AttentionCall call = make_cached_call(ctx, q, queries, keys, args, bias, sink);
  return record_cached(ctx, call, queries);
}

Tensor attention_weights_cached(Context& ctx, const Columns& q, const Lengths& queries,
                                std::span<const CachedKeys> keys, const AttentionArgs& args,
                                const Tensor* bias, const Tensor* sink) {
  return weights(ctx, make_cached_call(ctx, q, queries, keys, args, bias, sink));
}

Tensor attention_of_scores_cached(Context& ctx, const Tensor& scores, const Lengths& queries,
                                  std::span<const CachedKeys> keys, const AttentionArgs& args,
                                  const Tensor* sink) {
  AttentionCall call = make_cached_scores_call(ctx, scores, queries, keys, args, sink);
  return record_cached(ctx, call, queries);
}

Tensor weights_of_scores(Context& ctx, const Tensor& scores, const Lengths& queries,
                         const Lengths& keys, const AttentionArgs& args, const Var* sink) {
  return weights(ctx, make_scores_call(ctx, scores, nullptr, queries, keys, args, sink));
}

Tensor weights_of_scores_cached(Context& ctx, const Tensor& scores, const Lengths& queries,
                                std::span<const CachedKeys> keys, const AttentionArgs& args,
                                const Tensor* sink) {
  return weights(ctx, make_cached_scores_call(ctx, scores, queries, keys, args, sink));
}

}  // namespace rapt::ops

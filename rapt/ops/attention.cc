#include "rapt/ops/attention.h"

#include <algorithm>
#include <array>
#include <optional>

#include "rapt/base/check.h"
#include "rapt/kernels/attention.h"

namespace rapt::ops {
namespace {

using kernels::AttentionGrad;
using kernels::AttentionSequence;

// What a kernel is given, kept for the backward pass.
struct Call {
  kernels::Attention a;
  Buffer<AttentionSequence> sequences;
  Buffer<uint32_t> plan;
};

void check_args(const AttentionArgs& args) {
  check(args.heads > 0 && args.heads < 65536, "attention: heads is ", args.heads,
        ", expected 1 … 65535");
  check(args.kv_heads > 0 && args.heads % args.kv_heads == 0, "attention: heads is ", args.heads,
        ", not a multiple of kv_heads = ", args.kv_heads);
  check(args.dim > 0 && args.dim_v > 0, "attention: dim is ", args.dim, " and dim_v ", args.dim_v,
        ", expected positive numbers");
  check(args.softcap >= 0, "attention: softcap is ", args.softcap, ", expected 0 or more");
  check(args.slopes.empty() || args.slopes.size() == args.heads, "attention: ", args.slopes.size(),
        " slopes, expected one for each of ", args.heads, " heads");
  check(args.dropout.p >= 0 && args.dropout.p < 1, "attention: dropout is ", args.dropout.p,
        ", expected 0 <= p < 1");
}

void check_columns(const char* name, const Columns& part, size_t rows, size_t width) {
  const Shape& shape = part.x.shape();
  check(shape.rank() == 2, "attention: ", name, " is ", shape, ", expected a matrix");
  check(shape[0] == rows, "attention: ", name, " has ", shape[0], " rows, its sequences ", rows);
  check(part.first + width <= shape[1], "attention: ", name, " is columns ", part.first, " … ",
        part.first + width - 1, " of a matrix that has ", shape[1]);
}

kernels::Attention make_attention(const Context& ctx, const AttentionArgs& args, const Columns& q,
                                  size_t k_stride, size_t v_stride, size_t rows) {
  kernels::Attention a;
  a.heads = args.heads;
  a.kv_heads = args.kv_heads;
  a.dim = args.dim;
  a.dim_v = args.dim_v;
  a.scale = args.scale;
  a.softcap = args.softcap;
  a.q = {q.x.cols(), args.dim};
  a.k = {k_stride, args.dim};
  a.v = {v_stride, args.dim_v};
  a.out = {args.heads * args.dim_v, args.dim_v};
  a.lse_stride = rows;
  a.slopes = args.slopes.empty() ? nullptr : args.slopes.data();
  a.dropout = args.dropout.rate(ctx);
  a.dropout_key = ctx.dropout_key(args.dropout.site);
  return a;
}

// The bias as a matrix for each head and sequence.
class BiasTable {
 public:
  BiasTable(const Tensor& bias, const Call& call) {
    const Shape& shape = bias.shape();
    const std::span<const AttentionSequence> sequences = call.sequences.span();
    check(shape.rank() >= 2, "attention: bias is ", shape, ", expected [rows, columns], ",
          "[heads, rows, columns] or [sequences, heads, rows, columns]");
    const size_t rank = shape.rank(), heads = rank >= 3 ? shape[rank - 3] : 1;
    check(heads == 1 || heads == call.a.heads, "attention: bias is ", shape, ", expected 1 or ",
          call.a.heads, " heads");
    check(rank < 4 || shape[0] == sequences.size(), "attention: bias is ", shape, ", expected ",
          sequences.size(), " sequences");
    size_t rows = 0, columns = 0;
    for (const AttentionSequence& s : sequences) {
      rows = std::max<size_t>(rows, s.query_position + s.queries);
      columns = std::max<size_t>(columns, s.key_position + s.keys);
    }
    check(shape[rank - 2] >= rows && shape[rank - 1] >= columns, "attention: bias is ", shape,
          ", the positions need ", Shape{rows, columns});
    const size_t matrix = shape[rank - 2] * shape[rank - 1];
    strides_ = {shape[rank - 1], heads == 1 ? 0 : matrix};
    sequence_ = rank < 4 ? 0 : heads * matrix;
  }
  kernels::HeadStride strides() const { return strides_; }
  float* of(const Tensor& bias, size_t s) const { return bias.data() + s * sequence_; }

 private:
  kernels::HeadStride strides_;
  size_t sequence_;
};

void set_bias_and_sink(Call& call, const Tensor* bias, const Tensor* sink) {
  if (bias != nullptr) {
    const BiasTable table(*bias, call);
    call.a.bias = table.strides();
    for (size_t s = 0; s < call.sequences.size(); ++s) call.sequences[s].bias = table.of(*bias, s);
  }
  if (sink != nullptr) {
    check(sink->shape() == Shape{call.a.heads}, "attention: sink is ", sink->shape(), ", expected ",
          Shape{call.a.heads});
    call.a.sink = sink->data();
  }
}

AttentionSequence make_sequence(const Columns& q, const Lengths& queries, size_t s) {
  AttentionSequence sequence;
  sequence.q = q.x.data() + queries.offset(s) * q.x.cols() + q.first;
  sequence.id = queries[s].id;
  sequence.queries = queries[s].size;
  sequence.query_position = queries[s].past;
  return sequence;
}

void set_keys(AttentionSequence& sequence, uint32_t keys, uint32_t position, const Band& band) {
  sequence.keys = keys;
  sequence.key_position = position;
  sequence.band = band.between(sequence.query_position + sequence.queries, position + keys);
}

// Checks everything and points to the values; v may be null where the weights alone are wanted.
Call make_call(const Context& ctx, const Columns& q, const Columns& k, const Columns* v,
               const Lengths& queries, const Lengths& keys, const AttentionArgs& args,
               const Var* bias, const Var* sink) {
  check_args(args);
  check(queries.sequences() == keys.sequences(), "attention: ", queries.sequences(),
        " sequences of queries and ", keys.sequences(), " of keys");
  check_columns("q", q, queries.rows(), args.heads * args.dim);
  check_columns("k", k, keys.rows(), args.kv_heads * args.dim);
  if (v != nullptr) check_columns("v", *v, keys.rows(), args.kv_heads * args.dim_v);

  Call call;
  call.a = make_attention(ctx, args, q, k.x.cols(), v == nullptr ? 0 : v->x.cols(), queries.rows());
  call.sequences = ctx.buffer<AttentionSequence>(queries.sequences());
  for (size_t s = 0; s < queries.sequences(); ++s) {
    AttentionSequence sequence = make_sequence(q, queries, s);
    sequence.k = k.x.data() + keys.offset(s) * k.x.cols() + k.first;
    if (v != nullptr) sequence.v = v->x.data() + keys.offset(s) * v->x.cols() + v->first;
    set_keys(sequence, keys[s].size, keys[s].past, args.band);
    call.sequences[s] = sequence;
  }
  set_bias_and_sink(call, bias == nullptr ? nullptr : &bias->value(),
                    sink == nullptr ? nullptr : &sink->value());
  call.plan = ctx.buffer<uint32_t>(kernels::attention_plan_size(call.a, call.sequences.span()));
  return call;
}

Call make_cached_call(const Context& ctx, const Columns& q, const Lengths& queries,
                      std::span<const CachedKeys> keys, const AttentionArgs& args,
                      const Tensor* bias, const Tensor* sink) {
  check_args(args);
  check(queries.sequences() == keys.size(), "attention: ", queries.sequences(),
        " sequences of queries and ", keys.size(), " of keys");
  check_columns("q", q, queries.rows(), args.heads * args.dim);
  const size_t k_stride = keys.empty() ? 0 : keys[0].k.stride();
  const size_t v_stride = keys.empty() ? 0 : keys[0].v.stride();

  Call call;
  call.a = make_attention(ctx, args, q, k_stride, v_stride, queries.rows());
  check(!call.a.dropout.on(), "attention: no dropout with a cache");
  call.sequences = ctx.buffer<AttentionSequence>(queries.sequences());
  for (size_t s = 0; s < queries.sequences(); ++s) {
    const CachedKeys& from = keys[s];
    check(from.k.stride() == k_stride && from.v.stride() == v_stride, "attention: the keys of ",
          "sequence ", s, " have rows ", from.k.stride(), " and ", from.v.stride(),
          " apart, those of sequence 0 ", k_stride, " and ", v_stride);
    check(from.k.cols() == args.kv_heads * args.dim && from.v.cols() == args.kv_heads * args.dim_v,
          "attention: cached keys and values have ", from.k.cols(), " and ", from.v.cols(),
          " columns, expected ", args.kv_heads * args.dim, " and ", args.kv_heads * args.dim_v);
    check(from.slots.empty() || from.slots.size() == from.size, "attention: ", from.slots.size(),
          " slots for ", from.size, " keys");
    check(!from.slots.empty() || (from.size <= from.k.rows() && from.size <= from.v.rows()),
          "attention: ", from.size, " keys in a cache of ", from.k.rows(), " rows");
    AttentionSequence sequence = make_sequence(q, queries, s);
    sequence.k = from.k.data();
    sequence.v = from.v.data();
    sequence.slots = from.slots.empty() ? nullptr : from.slots.data();
    set_keys(sequence, from.size, from.position, args.band);
    call.sequences[s] = sequence;
  }
  set_bias_and_sink(call, bias, sink);
  call.plan = ctx.buffer<uint32_t>(kernels::attention_plan_size(call.a, call.sequences.span()));
  return call;
}

struct Result {
  Tensor y, lse;
};
Result forward(Context& ctx, Call& call, const Lengths& queries) {
  const size_t rows = queries.rows();
  const Result result{ctx.empty({rows, call.a.out.row}), ctx.empty({call.a.heads, rows})};
  for (size_t s = 0; s < call.sequences.size(); ++s) {
    call.sequences[s].out = result.y.data() + queries.offset(s) * call.a.out.row;
    call.sequences[s].lse = result.lse.data() + queries.offset(s);
  }
  kernels::attention_forward(call.a, call.sequences.span(), call.plan.span(), ctx.pool());
  return result;
}

Tensor weights(Context& ctx, const Call& call) {
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
  Call call;
  Columns q, k, v;
  Lengths queries, keys;
  std::optional<Var> bias, sink;
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
  const BiasTable table(total, r.call);
  const Buffer<float*> dbias = grads.buffer<float*>(of.size());
  for (size_t s = 0; s < of.size(); ++s) dbias[s] = table.of(total, s);
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

}  // namespace

Var attention(Context& ctx, const Columns& q, const Columns& k, const Columns& v,
              const Lengths& queries, const Lengths& keys, const AttentionArgs& args,
              const Var* bias, const Var* sink) {
  Call call = make_call(ctx, q, k, &v, queries, keys, args, bias, sink);
  const Result result = forward(ctx, call, queries);
  const auto optional = [](const Var* x) {
    return x == nullptr ? std::nullopt : std::optional(*x);
  };
  return ctx.record(
      "attention", result.y,
      [r = Recorded{call, q, k, v, queries, keys, optional(bias), optional(sink), result}](
          const Tensor& dy, Grads& grads) { backward(r, dy, grads); });
}

Tensor attention_weights(Context& ctx, const Columns& q, const Columns& k, const Lengths& queries,
                         const Lengths& keys, const AttentionArgs& args, const Var* bias,
                         const Var* sink) {
  return weights(ctx, make_call(ctx, q, k, nullptr, queries, keys, args, bias, sink));
}

Tensor attention_cached(Context& ctx, const Columns& q, const Lengths& queries,
                        std::span<const CachedKeys> keys, const AttentionArgs& args,
                        const Tensor* bias, const Tensor* sink) {
  Call call = make_cached_call(ctx, q, queries, keys, args, bias, sink);
  const Tensor y = forward(ctx, call, queries).y;
  return ctx.record("attention_cached", y, [](const Tensor&, Grads&) {}).value();
}

Tensor attention_weights_cached(Context& ctx, const Columns& q, const Lengths& queries,
                                std::span<const CachedKeys> keys, const AttentionArgs& args,
                                const Tensor* bias, const Tensor* sink) {
  return weights(ctx, make_cached_call(ctx, q, queries, keys, args, bias, sink));
}

}  // namespace rapt::ops

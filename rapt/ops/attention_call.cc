#include "rapt/ops/attention_call.h"

#include <algorithm>

#include "rapt/base/check.h"

namespace rapt::ops {
namespace {

using kernels::AttentionSequence;

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

void check_sequences(size_t queries, size_t keys) {
  check(queries == keys, "attention: ", queries, " sequences of queries and ", keys, " of keys");
}

void check_columns(const char* name, const Columns& part, size_t rows, size_t width) {
  const Shape& shape = part.x.shape();
  check(shape.rank() == 2, "attention: ", name, " is ", shape, ", expected a matrix");
  check(shape[0] == rows, "attention: ", name, " has ", shape[0], " rows, its sequences ", rows);
  check(part.first + width <= shape[1], "attention: ", name, " is columns ", part.first, " … ",
        part.first + width - 1, " of a matrix that has ", shape[1]);
}

void check_cache(std::span<const CachedKeys> keys, const AttentionArgs& args, DropRate dropout) {
  check(!dropout.on(), "attention: no dropout with a cache");
  for (size_t s = 0; s < keys.size(); ++s) {
    const CachedKeys& from = keys[s];
    const size_t k_stride = keys[0].k.stride(), v_stride = keys[0].v.stride();
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
  }
}

void check_scores(const Tensor& scores, size_t heads, size_t rows, size_t columns) {
  const Shape& shape = scores.shape();
  check(shape.rank() == 3 && shape[0] == heads && shape[1] == rows && shape[2] >= columns,
        "attention: scores are ", shape, ", expected [", heads, ", ", rows, ", ", columns,
        " or more]");
}

struct Strides {
  size_t q = 0, k = 0, v = 0;
};
kernels::Attention make_attention(const Context& ctx, const AttentionArgs& args, Strides strides,
                                  size_t rows) {
  kernels::Attention a;
  a.heads = args.heads;
  a.kv_heads = args.kv_heads;
  a.dim = args.dim;
  a.dim_v = args.dim_v;
  a.scale = args.scale;
  a.softcap = args.softcap;
  a.q = {strides.q, args.dim};
  a.k = {strides.k, args.dim};
  a.v = {strides.v, args.dim_v};
  a.out = {args.heads * args.dim_v, args.dim_v};
  a.lse_stride = rows;
  a.slopes = args.slopes.empty() ? nullptr : args.slopes.data();
  a.dropout = args.dropout.rate(ctx);
  a.dropout_key = ctx.dropout_key(args.dropout.site);
  return a;
}

// A product of no terms: what is left of a score is its bias. A cap is in the scores already.
kernels::Attention make_attention_of_scores(const Context& ctx, const AttentionArgs& args,
                                            size_t v_stride, size_t rows) {
  kernels::Attention a = make_attention(ctx, args, {.v = v_stride}, rows);
  a.dim = 0;
  a.softcap = 0;
  a.q = a.k = {};
  return a;
}

// set_keys(sequence, s) points to the keys and gives their number and the position of the first.
struct Keys {
  uint32_t size, position;
};
template <class SetKeys>
AttentionCall make_call(const Context& ctx, const kernels::Attention& a, const Lengths& queries,
                        const Band& band, const SetKeys& set_keys) {
  AttentionCall call{a, ctx.buffer<AttentionSequence>(queries.sequences()), {}};
  for (size_t s = 0; s < queries.sequences(); ++s) {
    AttentionSequence sequence;
    sequence.id = queries[s].id;
    sequence.queries = queries[s].size;
    sequence.query_position = queries[s].past;
    const Keys keys = set_keys(sequence, s);
    sequence.keys = keys.size;
    sequence.key_position = keys.position;
    sequence.band =
        band.between(sequence.query_position + sequence.queries, keys.position + keys.size);
    call.sequences[s] = sequence;
  }
  call.plan = ctx.buffer<uint32_t>(kernels::attention_plan_size(a, call.sequences.span()));
  return call;
}

void set_bias(AttentionCall& call, const Tensor* bias, const Lengths* scores_of) {
  if (bias == nullptr) return;
  const BiasTable table(*bias, call, scores_of);
  call.a.bias = table.strides();
  for (size_t s = 0; s < call.sequences.size(); ++s) {
    call.sequences[s].bias = table.of(*bias, call.sequences[s], s);
  }
}

void set_sink(AttentionCall& call, const Tensor* sink) {
  if (sink == nullptr) return;
  check(sink->shape() == Shape{call.a.heads}, "attention: sink is ", sink->shape(), ", expected ",
        Shape{call.a.heads});
  call.a.sink = sink->data();
}

const Tensor* value_of(const Var* x) { return x == nullptr ? nullptr : &x->value(); }
const float* row_of(const Columns& x, size_t row) {
  return x.x.data() + row * x.x.cols() + x.first;
}

void set_cached(AttentionSequence& sequence, const CachedKeys& from) {
  sequence.v = from.v.data();
  sequence.slots = from.slots.empty() ? nullptr : from.slots.data();
}

}  // namespace

BiasTable::BiasTable(const Tensor& bias, const AttentionCall& call, const Lengths* scores_of)
    : scores_of_(scores_of) {
  const Shape& shape = bias.shape();
  if (scores_of != nullptr) {
    strides_ = {shape[2], shape[1] * shape[2]};
    return;
  }
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

float* BiasTable::of(const Tensor& bias, const AttentionSequence& sequence, size_t s) const {
  if (scores_of_ == nullptr) return bias.data() + s * sequence_;
  // Row 0 of the sequence stands at its first query's position, column 0 at its first key's.
  const auto row = static_cast<ptrdiff_t>(scores_of_->offset(s)) -
                   static_cast<ptrdiff_t>(sequence.query_position);
  return bias.data() + row * static_cast<ptrdiff_t>(strides_.row) -
         static_cast<ptrdiff_t>(sequence.key_position);
}

AttentionCall make_call(const Context& ctx, const Columns& q, const Columns& k, const Columns* v,
                        const Lengths& queries, const Lengths& keys, const AttentionArgs& args,
                        const Var* bias, const Var* sink) {
  check_args(args);
  check_sequences(queries.sequences(), keys.sequences());
  check_columns("q", q, queries.rows(), args.heads * args.dim);
  check_columns("k", k, keys.rows(), args.kv_heads * args.dim);
  if (v != nullptr) check_columns("v", *v, keys.rows(), args.kv_heads * args.dim_v);
  const Strides strides{q.x.cols(), k.x.cols(), v == nullptr ? 0 : v->x.cols()};
  AttentionCall call = make_call(ctx, make_attention(ctx, args, strides, queries.rows()), queries,
                                 args.band, [&](AttentionSequence& sequence, size_t s) {
                                   sequence.q = row_of(q, queries.offset(s));
                                   sequence.k = row_of(k, keys.offset(s));
                                   if (v != nullptr) sequence.v = row_of(*v, keys.offset(s));
                                   return Keys{keys[s].size, keys[s].past};
                                 });
  set_bias(call, value_of(bias), nullptr);
  set_sink(call, value_of(sink));
  return call;
}

AttentionCall make_cached_call(const Context& ctx, const Columns& q, const Lengths& queries,
                               std::span<const CachedKeys> keys, const AttentionArgs& args,
                               const Tensor* bias, const Tensor* sink) {
  check_args(args);
  check_sequences(queries.sequences(), keys.size());
  check_columns("q", q, queries.rows(), args.heads * args.dim);
  check_cache(keys, args, args.dropout.rate(ctx));
  const Strides strides{q.x.cols(), keys.empty() ? 0 : keys[0].k.stride(),
                        keys.empty() ? 0 : keys[0].v.stride()};
  kernels::Attention a = make_attention(ctx, args, strides, queries.rows());
  if (args.interleaved) a.k.head = 1, a.k_step = args.kv_heads;
  AttentionCall call =
      make_call(ctx, a, queries, args.band, [&](AttentionSequence& sequence, size_t s) {
        sequence.q = row_of(q, queries.offset(s));
        sequence.k = keys[s].k.data();
        set_cached(sequence, keys[s]);
        return Keys{keys[s].size, keys[s].position};
      });
  set_bias(call, bias, nullptr);
  set_sink(call, sink);
  return call;
}

AttentionCall make_scores_call(const Context& ctx, const Tensor& scores, const Columns* v,
                               const Lengths& queries, const Lengths& keys,
                               const AttentionArgs& args, const Var* sink) {
  check_args(args);
  check_sequences(queries.sequences(), keys.sequences());
  check_scores(scores, args.heads, queries.rows(), keys.longest());
  if (v != nullptr) check_columns("v", *v, keys.rows(), args.kv_heads * args.dim_v);
  const size_t v_stride = v == nullptr ? 0 : v->x.cols();
  AttentionCall call = make_call(ctx, make_attention_of_scores(ctx, args, v_stride, queries.rows()),
                                 queries, args.band, [&](AttentionSequence& sequence, size_t s) {
                                   if (v != nullptr) sequence.v = row_of(*v, keys.offset(s));
                                   return Keys{keys[s].size, keys[s].past};
                                 });
  set_bias(call, &scores, &queries);
  set_sink(call, value_of(sink));
  return call;
}

AttentionCall make_cached_scores_call(const Context& ctx, const Tensor& scores,
                                      const Lengths& queries, std::span<const CachedKeys> keys,
                                      const AttentionArgs& args, const Tensor* sink) {
  check_args(args);
  check_sequences(queries.sequences(), keys.size());
  check_cache(keys, args, args.dropout.rate(ctx));
  size_t longest = 0;
  for (const CachedKeys& from : keys) longest = std::max<size_t>(longest, from.size);
  check_scores(scores, args.heads, queries.rows(), longest);
  const size_t v_stride = keys.empty() ? 0 : keys[0].v.stride();
  AttentionCall call = make_call(ctx, make_attention_of_scores(ctx, args, v_stride, queries.rows()),
                                 queries, args.band, [&](AttentionSequence& sequence, size_t s) {
                                   set_cached(sequence, keys[s]);
                                   return Keys{keys[s].size, keys[s].position};
                                 });
  set_bias(call, &scores, &queries);
  set_sink(call, sink);
  return call;
}

}  // namespace rapt::ops

#include "rapt/ops/attention.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "rapt/kernels/attention_ref.h"
#include "rapt/testing/expect.h"

namespace rapt {
namespace {

using ops::AttentionArgs;
using ops::Band;
using ops::Columns;
using ::testing::ThrowsMessage;
using namespace testing;

constexpr float kInf = std::numeric_limits<float>::infinity();

struct Setting {
  Lengths queries, keys;
  AttentionArgs args;
  uint64_t dropout_key = 0;
  DropRate drop = {};
};

Lengths lengths(std::vector<Sequence> sequences) { return Lengths(std::move(sequences)); }

// q, k, v of a setting; then bias, where it has a row, and sink.
Shape q_shape(const Setting& s) { return {s.queries.rows(), s.args.heads * s.args.dim}; }
Shape k_shape(const Setting& s) { return {s.keys.rows(), s.args.kv_heads * s.args.dim}; }
Shape v_shape(const Setting& s) { return {s.keys.rows(), s.args.kv_heads * s.args.dim_v}; }

// The formula of kernels/attention_ref.h for all sentences. Empty arrays: no bias, no sink.
template <class T>
Array<T> formula(const Setting& s, const Array<T>& q, const Array<T>& k, const Array<T>& v,
                 const Array<T>& bias, const Array<T>& sink, Array<T>* weights = nullptr) {
  kernels::Attention a;
  a.heads = s.args.heads, a.kv_heads = s.args.kv_heads;
  a.dim = s.args.dim, a.dim_v = s.args.dim_v;
  a.scale = s.args.scale, a.softcap = s.args.softcap;
  a.q = {q.cols(), a.dim}, a.k = {k.cols(), a.dim}, a.v = {v.cols(), a.dim_v};
  a.out = {a.heads * a.dim_v, a.dim_v};
  const size_t rank = bias.shape.rank();
  if (rank >= 2) {
    const size_t rows = bias.shape[rank - 2], columns = bias.shape[rank - 1];
    a.bias = {columns, rank == 2 || bias.shape[rank - 3] == 1 ? 0 : rows * columns};
  }
  a.slopes = s.args.slopes.empty() ? nullptr : s.args.slopes.data();
  a.dropout = s.drop;
  a.dropout_key = s.dropout_key;
  Array<T> y({s.queries.rows(), a.out.row});
  size_t pairs = 0;
  for (size_t n = 0; n < s.queries.sequences(); ++n) {
    kernels::AttentionSequence sequence;
    sequence.id = s.queries[n].id;
    sequence.queries = s.queries[n].size, sequence.query_position = s.queries[n].past;
    sequence.keys = s.keys[n].size, sequence.key_position = s.keys[n].past;
    sequence.band =
        s.args.band.between(s.queries[n].past + s.queries[n].size, s.keys[n].past + s.keys[n].size);
    const auto from = [](const Array<T>& x, size_t row) {
      return Row<T>(x.data).subspan(row * x.cols());
    };
    const size_t per_sequence = rank == 4 ? bias.data.size() / bias.shape[0] : 0;
    std::vector<T> out(sequence.queries * a.out.row, T(0));
    std::vector<T> p(a.heads * sequence.queries * sequence.keys, T(0));
    kernels::attention_ref<T>(a, sequence, from(q, s.queries.offset(n)), from(k, s.keys.offset(n)),
                              from(v, s.keys.offset(n)),
                              Row<T>(bias.data).subspan(n * per_sequence), sink.data, out, &p);
    std::copy(out.begin(), out.end(), &y.data[s.queries.offset(n) * a.out.row]);
    const size_t count = size_t{sequence.queries} * sequence.keys;
    for (size_t h = 0; h < a.heads && weights != nullptr; ++h) {
      std::copy_n(&p[h * count], count, &(*weights)(h, pairs));
    }
    pairs += count;
  }
  return y;
}

auto attend(const Setting& s) {
  return [s](Context& ctx, const Var& q, const Var& k, const Var& v) {
    return ops::attention(ctx, {q}, {k}, {v}, s.queries, s.keys, s.args);
  };
}
auto reference(const Setting& s) {
  return [s]<class T>(const Array<T>& q, const Array<T>& k, const Array<T>& v) {
    return formula(s, q, k, v, Array<T>(), Array<T>());
  };
}
void expect_both(const Setting& s) {
  for_each_simd_target([&] {
    expect_values(attend(s), reference(s), {q_shape(s), k_shape(s), v_shape(s)}, 3e-6);
    expect_gradient(attend(s), reference(s), {q_shape(s), k_shape(s), v_shape(s)}, 3e-5);
  });
}

// Ragged, more keys than queries and the other way round, dim_v != dim, heads in groups.
Setting ragged() {
  return {lengths({{7, 5, 0}, {3, 1, 0}, {9, 33, 0}}),
          lengths({{7, 9, 0}, {3, 20, 0}, {9, 6, 0}}),
          {.heads = 4, .kv_heads = 2, .dim = 7, .dim_v = 5, .scale = 0.3f}};
}

TEST(AttentionOp, MatchesTheFormulaAndItsDerivative) { expect_both(ragged()); }

TEST(AttentionOp, BandsHideWhatTheySay) {
  for (const Band band : {Band::causal_top_left(), Band::causal_bottom_right(), Band::window(2, 3),
                          Band::window_bottom_right(4, 0)}) {
    Setting s = ragged();
    s.args.band = band;
    expect_both(s);
  }
}

TEST(AttentionOp, CornersOfCausalMasksDiffer) {
  const auto last_visible = [](Band band, int64_t query) {
    return band.between(3, 5).last + query;
  };
  EXPECT_EQ(last_visible(Band::causal_top_left(), 0), 0);
  EXPECT_EQ(last_visible(Band::causal_top_left(), 2), 2);
  EXPECT_EQ(last_visible(Band::causal_bottom_right(), 0), 2);
  EXPECT_EQ(last_visible(Band::causal_bottom_right(), 2), 4);
  EXPECT_EQ(Band::window(2, 1).between(3, 5).first, -2);
  EXPECT_EQ(Band::window(2, 1).between(3, 5).last, 1);
}

TEST(AttentionOp, CapsScores) {
  Setting s = ragged();
  s.args.softcap = 1.5f;
  expect_both(s);
}

TEST(AttentionOp, SlopesFollowDistance) {
  const std::vector<float> slopes = {0.5f, 0.25f, 0.125f, 0.0625f};
  Setting s = ragged();
  s.args.slopes = slopes;
  expect_both(s);
}

TEST(AttentionOp, AddsBiasAndSink) {
  for (const Shape& bias :
       {Shape{33, 20}, Shape{4, 35, 21}, Shape{3, 1, 33, 20}, Shape{3, 4, 33, 20}}) {
    const Setting s = ragged();
    const auto op = [&](Context& ctx, const Var& q, const Var& k, const Var& v, const Var& b,
                        const Var& sink) {
      return ops::attention(ctx, {q}, {k}, {v}, s.queries, s.keys, s.args, &b, &sink);
    };
    const auto ref = [&]<class T>(const Array<T>& q, const Array<T>& k, const Array<T>& v,
                                  const Array<T>& b,
                                  const Array<T>& sink) { return formula(s, q, k, v, b, sink); };
    for_each_simd_target([&] {
      expect_values(op, ref, {q_shape(s), k_shape(s), v_shape(s), bias, {4}}, 3e-6);
      expect_gradient(op, ref, {q_shape(s), k_shape(s), v_shape(s), bias, {4}}, 3e-5);
    });
  }
}

// q, k and v as columns of one projection, in any order and with columns that nobody reads; or all
// three the same columns.
TEST(AttentionOp, PartsOfOneMatrixGiveOneGradient) {
  struct Layout {
    size_t q, k, v, columns;
  };
  for (const Layout at :
       {Layout{0, 24, 36, 48}, Layout{20, 44, 0, 60}, Layout{0, 0, 0, 24}, Layout{0, 24, 30, 48}}) {
    Setting s = ragged();
    s.keys = s.queries;
    s.args.band = Band::causal_top_left();
    s.args.dim = s.args.dim_v = 6;
    const auto op = [&](Context& ctx, const Var& x) {
      return ops::attention(ctx, {x, at.q}, {x, at.k}, {x, at.v}, s.queries, s.keys, s.args);
    };
    const auto ref = [&]<class T>(const Array<T>& x) {
      const auto part = [&](size_t first, size_t width) {
        Array<T> y({x.rows(), width});
        for (size_t r = 0; r < x.rows(); ++r) {
          for (size_t c = 0; c < width; ++c) y(r, c) = x(r, first + c);
        }
        return y;
      };
      return formula(s, part(at.q, 24), part(at.k, 12), part(at.v, 12), Array<T>(), Array<T>());
    };
    expect_values(op, ref, {{s.queries.rows(), at.columns}}, 3e-6);
    expect_gradient(op, ref, {{s.queries.rows(), at.columns}}, 3e-5);
  }
}

TEST(AttentionOp, DropsInTrainingByTheBitsOfItsSite) {
  Setting s = ragged();
  s.args.dropout = {0.25, site_of("encoder.layers.0.self_attn.dropout")};
  const auto inputs = detail::random_inputs({q_shape(s), k_shape(s), v_shape(s)});
  expect_values_at(attend(s), reference(s), inputs, 3e-6);  // not in inference
  Setting dropped = s;
  dropped.drop = DropRate::of(0.25);
  dropped.dropout_key = op_key(0, Stream::kDropout, s.args.dropout.site, 0);
  Context ctx(Mode::kTraining, test_pool());
  const Var y = attend(s)(ctx, Var(inputs[0]), Var(inputs[1]), Var(inputs[2]));
  expect_near(y.value(),
              reference(dropped)(to_array(inputs[0]), to_array(inputs[1]), to_array(inputs[2])),
              3e-6);
  expect_gradient_at(attend(s), reference(dropped), inputs, 3e-5, Mode::kTraining);
}

TEST(AttentionOp, WeightsAreTheSoftmax) {
  Setting s = ragged();
  s.args.band = Band::window(3, 8);
  const auto inputs = detail::random_inputs({q_shape(s), k_shape(s), v_shape(s)});
  const size_t pairs = 5 * 9 + 1 * 20 + 33 * 6;
  Array<double> expected({4, pairs});
  const Array<double> none;
  formula(s, to_array(inputs[0]), to_array(inputs[1]), to_array(inputs[2]), none, none, &expected);
  for_each_simd_target([&] {
    Context ctx(Mode::kInference, test_pool());
    const Tensor p =
        ops::attention_weights(ctx, {Var(inputs[0])}, {Var(inputs[1])}, s.queries, s.keys, s.args);
    expect_near(p, expected, 3e-6);
  });
}

// A decoder's self-attention, step by step, its rows scattered over a cache that others share.
TEST(AttentionOp, ACacheChangesNoBit) {
  constexpr size_t kRows = 150, kSlots = 400;
  const AttentionArgs args{.heads = 4,
                           .kv_heads = 2,
                           .dim = 16,
                           .dim_v = 16,
                           .scale = 0.25f,
                           .band = Band::causal_top_left()};
  const Tensor qkv = random_tensor({kRows, 128}, 1);
  for_each_simd_target([&] {
    Context ctx(Mode::kInference, test_pool());
    const Lengths all = Lengths::single(kRows, 5);
    const Tensor whole = ops::attention(ctx, {qkv}, {qkv, 64}, {qkv, 96}, all, all, args).value();
    const Tensor whole_weights = ops::attention_weights(ctx, {qkv}, {qkv, 64}, all, all, args);
    const Tensor cache = random_tensor({kSlots, 64}, 2);
    std::vector<int32_t> slots;
    for (size_t first = 0, step = 1; first < kRows; first += step, step = step % 7 + 1) {
      const size_t rows = std::min(step, kRows - first), size = first + rows;
      for (size_t r = first; r < size; ++r) {
        slots.push_back(static_cast<int32_t>(r * 37 % kSlots));
        std::copy_n(qkv.data() + r * 128 + 64, 64, cache.data() + slots.back() * 64);
      }
      const ops::CachedKeys keys{cache.matrix().slice_cols(0, 32),
                                 cache.matrix().slice_cols(32, 64), slots,
                                 static_cast<uint32_t>(size)};
      const Lengths now = lengths({{5, static_cast<uint32_t>(rows), static_cast<uint32_t>(first)}});
      const Columns q{qkv.slice_rows(first, size)};
      expect_same_bits(ops::attention_cached(ctx, q, now, {&keys, 1}, args),
                       whole.slice_rows(first, size));
      const Tensor p = ops::attention_weights_cached(ctx, q, now, {&keys, 1}, args);
      for (size_t h = 0; h < 4; ++h) {
        for (size_t r = 0; r < rows; ++r) {
          const auto row = Tensor::of({size}, p.span().subspan((h * rows + r) * size, size));
          const auto from = whole_weights.span().subspan((h * kRows + first + r) * kRows, size);
          expect_same_bits(row, Tensor::of({size}, from));
        }
      }
    }
  });
}

TEST(AttentionOp, ASentenceDoesNotDependOnItsNeighbours) {
  Setting s = ragged();
  s.args.dropout = {0.3, 17};
  const auto inputs = detail::random_inputs({q_shape(s), k_shape(s), v_shape(s)});
  Context ctx(Mode::kTraining, test_pool());
  const Var q = ctx.leaf(inputs[0]), k = ctx.leaf(inputs[1]), v = ctx.leaf(inputs[2]);
  const Var y = attend(s)(ctx, q, k, v);
  ctx.backward(y, random_tensor(y.shape(), 9));
  for (size_t n = 0; n < 3; ++n) {
    const size_t first = s.queries.offset(n), last = s.queries.offset(n + 1);
    const size_t key = s.keys.offset(n), key_end = s.keys.offset(n + 1);
    Context single(Mode::kTraining, test_pool());
    const Tensor qn = inputs[0].slice_rows(first, last), kn = inputs[1].slice_rows(key, key_end);
    const Tensor vn = inputs[2].slice_rows(key, key_end);
    const Var yn = ops::attention(single, {single.leaf(qn)}, {single.leaf(kn)}, {single.leaf(vn)},
                                  lengths({s.queries[n]}), lengths({s.keys[n]}), s.args);
    expect_same_bits(yn.value(), y.value().slice_rows(first, last));
    single.backward(yn, random_tensor(y.shape(), 9).slice_rows(first, last));
    expect_same_bits(single.gradient(qn), ctx.gradient(inputs[0]).slice_rows(first, last));
    expect_same_bits(single.gradient(kn), ctx.gradient(inputs[1]).slice_rows(key, key_end));
    expect_same_bits(single.gradient(vn), ctx.gradient(inputs[2]).slice_rows(key, key_end));
  }
}

// Forward and backward of one sentence of n tokens, with dropout; the peak of the memory used.
size_t peak_bytes(size_t n) {
  MemoryPool memory;
  {
    Context ctx(Mode::kTraining, test_pool(), 0, 0, memory);
    const Tensor x = random_tensor({n, 24}, 1);
    const Lengths all = Lengths::single(n);
    const AttentionArgs args{.dim = 8, .dim_v = 8, .dropout = {0.1, 1}};
    const Var v = ctx.leaf(x);
    ctx.backward(ops::attention(ctx, {v}, {v, 8}, {v, 16}, all, all, args));
  }
  return memory.stats().peak_bytes_in_use;
}
TEST(AttentionOp, MemoryGrowsWithTheTokensNotTheirSquare) {
  const size_t once = peak_bytes(1024), twice = peak_bytes(2048);
  EXPECT_LE(twice, 2.3 * once);
  EXPECT_LE(twice, 2048u * 24 * sizeof(float) * 4);
}

TEST(AttentionOp, AllocatesNothingTheSecondTime) {
  MemoryPool memory;
  Context ctx(Mode::kTraining, test_pool(), 0, 0, memory);
  const Tensor x = random_tensor({100, 24}, 1);
  const Lengths all = Lengths::single(100);
  size_t before = 0;
  for (uint64_t step = 0; step < 3; ++step) {
    ctx.clear(step);
    const Var v = ctx.leaf(x);
    const AttentionArgs args{.dim = 8, .dim_v = 8, .dropout = {0.1, 1}};
    ctx.backward(ops::attention(ctx, {v}, {v, 8}, {v, 16}, all, all, args));
    if (step == 1) before = memory.stats().system_allocations;
  }
  EXPECT_EQ(memory.stats().system_allocations, before);
}

TEST(AttentionOp, QueriesWithoutKeysGiveZeros) {
  Setting s{lengths({{1, 4, 0}, {2, 3, 0}}),
            lengths({{1, 0, 0}, {2, 5, 0}}),
            {.dim = 8, .dim_v = 8, .band = Band::window(0, 0)}};
  Context ctx(Mode::kTraining, test_pool());
  const auto inputs = detail::random_inputs({q_shape(s), k_shape(s), v_shape(s)});
  const Tensor bias = Tensor::zeros({4, 5});
  for (size_t j = 0; j < 5; ++j) bias.host()[5 + j] = -kInf;  // row 1 sees nothing
  const Var b(bias);
  const Var y = ops::attention(ctx, {ctx.leaf(inputs[0])}, {ctx.leaf(inputs[1])},
                               {ctx.leaf(inputs[2])}, s.queries, s.keys, s.args, &b);
  ctx.backward(y, random_tensor(y.shape(), 3));
  for (const size_t row : {0, 1, 2, 3, 5}) {
    for (size_t d = 0; d < 8; ++d) {
      EXPECT_EQ(y.value().host()[row * 8 + d], 0.0f);
      EXPECT_EQ(ctx.gradient(inputs[0]).host()[row * 8 + d], 0.0f);
    }
  }
  EXPECT_NE(y.value().host()[4 * 8], 0.0f);
}

TEST(AttentionOp, RejectsWhatDoesNotFit) {
  Context ctx(Mode::kInference, test_pool());
  const Lengths three = Lengths::single(3);
  const auto call = [&](const Shape& q, const Shape& k, const AttentionArgs& args,
                        size_t first = 0) {
    return [&, q, k, args, first] {
      ops::attention(ctx, {Tensor::zeros(q)}, {Tensor::zeros(k), first}, {Tensor::zeros({3, 8})},
                     three, three, args);
    };
  };
  const AttentionArgs good{.heads = 2, .kv_heads = 2, .dim = 4, .dim_v = 4};
  EXPECT_NO_THROW(call({3, 8}, {3, 8}, good)());
  EXPECT_THAT(call({2, 8}, {3, 8}, good),
              ThrowsMessage<InvalidArgument>("attention: q has 2 rows, its sequences 3"));
  EXPECT_THAT(
      call({3, 8}, {3, 12}, good, 5),
      ThrowsMessage<InvalidArgument>("attention: k is columns 5 … 12 of a matrix that has 12"));
  AttentionArgs bad = good;
  bad.kv_heads = 3;
  EXPECT_THAT(
      call({3, 8}, {3, 8}, bad),
      ThrowsMessage<InvalidArgument>("attention: heads is 2, not a multiple of kv_heads = 3"));
  bad = good;
  bad.dropout.p = 1;
  EXPECT_THAT(call({3, 8}, {3, 8}, bad),
              ThrowsMessage<InvalidArgument>("attention: dropout is 1, expected 0 <= p < 1"));
  const Tensor x = Tensor::zeros({3, 8});
  const Var bias(Tensor::zeros({3, 2})), sink(Tensor::zeros({3}));
  EXPECT_THAT(
      [&] { ops::attention(ctx, {x}, {x}, {x}, three, three, good, &bias); },
      ThrowsMessage<InvalidArgument>("attention: bias is [3, 2], the positions need [3, 3]"));
  EXPECT_THAT([&] { ops::attention(ctx, {x}, {x}, {x}, three, three, good, nullptr, &sink); },
              ThrowsMessage<InvalidArgument>("attention: sink is [3], expected [2]"));
  const std::vector<int32_t> slots = {0, 1};
  const ops::CachedKeys keys{x.matrix(), x.matrix(), slots, 3};
  EXPECT_THAT(
      [&] {
        ops::attention_cached(ctx, {x}, three, {&keys, 1}, good);
      },
      ThrowsMessage<InvalidArgument>("attention: 2 slots for 3 keys"));
}

}  // namespace
}  // namespace rapt

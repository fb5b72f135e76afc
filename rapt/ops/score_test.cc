// Attention for any score: against the formula, against the tiled kernel, and the promises of
// attention.h for scores that somebody else wrote.
#include "rapt/ops/score.h"

#include <gmock/gmock.h>

#include <limits>

#include "rapt/kernels/additive_score_ref.h"
#include "rapt/kernels/attention_ref.h"
#include "rapt/ops/linear.h"
#include "rapt/ops/scale.h"
#include "rapt/ops/tanh.h"
#include "rapt/testing/everywhere.h"

namespace rapt {
namespace {

using ops::AttentionArgs;
using ops::Band;
using ops::Score;
using ::testing::ThrowsMessage;
using namespace testing;

// The example of docs/math/score.md: 3 tanh(k^T W q / 3) with one W for all heads.
Score bounded(const Var& w) {
  return Score([w](Context& ctx, const Var& q, const Var& k, size_t) {
    const Var projected = ops::linear(ctx, q, w, nullptr);         // rows W q
    const Var products = ops::linear(ctx, projected, k, nullptr);  // (W q) . k for all pairs
    return ops::tanh(ctx, products, 3.0f);
  });
}
// The scaled dot product as anybody would write it.
Score plain_product(float scale) {
  return Score([scale](Context& ctx, const Var& q, const Var& k, size_t) {
    return ops::scale(ctx, ops::linear(ctx, q, k, nullptr), scale);
  });
}

// Ragged, more keys than queries and the other way round, dim_v != dim, heads in groups.
struct Setting {
  Lengths queries{std::vector<Sequence>{{7, 5, 0}, {3, 1, 0}, {9, 33, 0}}};
  Lengths keys{std::vector<Sequence>{{7, 9, 0}, {3, 20, 0}, {9, 6, 0}}};
  AttentionArgs args{.heads = 4, .kv_heads = 2, .dim = 7, .dim_v = 5, .scale = 0.3f};

  Shape q() const { return {queries.rows(), args.heads * args.dim}; }
  Shape k() const { return {keys.rows(), args.kv_heads * args.dim}; }
  Shape v() const { return {keys.rows(), args.kv_heads * args.dim_v}; }
};

// The formula: f_ref(q row, k row, head) takes the place of the product. bias and sink may be empty.
template <class T, class F>
Array<T> formula(const Setting& s, const F& f_ref, const Array<T>& q, const Array<T>& k,
                 const Array<T>& v, const Array<T>& bias, const Array<T>& sink) {
  using std::tanh;
  kernels::Attention a;
  a.heads = s.args.heads, a.kv_heads = s.args.kv_heads;
  a.dim_v = s.args.dim_v;
  a.v = {v.cols(), a.dim_v}, a.out = {a.heads * a.dim_v, a.dim_v};
  a.slopes = s.args.slopes.empty() ? nullptr : s.args.slopes.data();
  Array<T> y({s.queries.rows(), a.out.row});
  for (size_t n = 0; n < s.queries.sequences(); ++n) {
    const size_t rows = s.queries[n].size, columns = s.keys[n].size;
    const size_t first = s.queries.offset(n), first_key = s.keys.offset(n);
    Array<T> scores({a.heads, rows, columns});
    for (size_t h = 0; h < a.heads; ++h) {
      for (size_t i = 0; i < rows; ++i) {
        for (size_t j = 0; j < columns; ++j) {
          T& x = scores(h * rows + i, j);
          x = f_ref(q.row(first + i).subspan(h * s.args.dim, s.args.dim),
                    k.row(first_key + j).subspan(h / a.group() * s.args.dim, s.args.dim), h);
          const T cap(s.args.softcap);
          if (s.args.softcap != 0) x = cap * tanh(x / cap);
          if (!bias.data.empty()) x += bias(h * bias.shape[1] + i, j);
        }
      }
    }
    kernels::AttentionSequence sequence;
    sequence.id = s.queries[n].id;
    sequence.queries = s.queries[n].size, sequence.keys = s.keys[n].size;
    sequence.band = s.args.band.between(s.queries[n].size, s.keys[n].size);
    a.bias = {columns, rows * columns};
    std::vector<T> out(rows * a.out.row, T(0));
    kernels::attention_ref<T>(a, sequence, {}, {}, Row<T>(v.data).subspan(first_key * v.cols()),
                              scores.data, sink.data, out);
    std::copy(out.begin(), out.end(), &y.data[first * a.out.row]);
  }
  return y;
}

Var attend(Context& ctx, const Setting& s, const Score& f, const Var& q, const Var& k, const Var& v,
           const Var* bias = nullptr, const Var* sink = nullptr) {
  return ops::attention(ctx, f, {q}, {k}, {v}, s.queries, s.keys, s.args, bias, sink);
}

const auto bounded_ref = []<class T>(const Array<T>& w) {
  return [&w](Row<T> q, Row<T> k, size_t) {
    using std::tanh;
    T dot(0);
    for (size_t r = 0; r < w.rows(); ++r) {
      for (size_t c = 0; c < w.cols(); ++c) dot += k[r] * w(r, c) * q[c];
    }
    return T(3) * tanh(dot / T(3));
  };
};

void expect_user_score(const Setting& s) {
  const auto op = [&](Context& ctx, const Var& q, const Var& k, const Var& v, const Var& w) {
    return attend(ctx, s, bounded(w), q, k, v);
  };
  const auto ref = [&]<class T>(const Array<T>& q, const Array<T>& k, const Array<T>& v,
                                const Array<T>& w) {
    return formula(s, bounded_ref(w), q, k, v, Array<T>(), Array<T>());
  };
  const Shape w{s.args.dim, s.args.dim};
  for_each_simd_target([&] {
    expect_values(op, ref, {s.q(), s.k(), s.v(), w}, 3e-6);
    expect_gradient(op, ref, {s.q(), s.k(), s.v(), w}, 3e-5);
  });
}

TEST(Score, OfAUserMatchesTheFormulaAndItsDerivative) { expect_user_score(Setting()); }

TEST(Score, OfAUserIsMaskedAsTheProductIs) {
  const std::vector<float> slopes = {0.5f, 0.25f, 0.125f, 0.0625f};
  for (const Band band :
       {Band::causal_top_left(), Band::causal_bottom_right(), Band::window(2, 3)}) {
    Setting s;
    s.args.band = band;
    s.args.slopes = slopes;
    expect_user_score(s);
  }
}

TEST(Score, AdditiveMatchesTheFormulaAndItsDerivative) {
  const Setting s;
  const auto op = [&](Context& ctx, const Var& q, const Var& k, const Var& v, const Var& vector) {
    return attend(ctx, s, Score::additive(vector), q, k, v);
  };
  const auto ref = [&]<class T>(const Array<T>& q, const Array<T>& k, const Array<T>& v,
                                const Array<T>& vector) {
    const auto f = [&](Row<T> a, Row<T> b, size_t h) {
      return kernels::additive_score_ref<T>(a, b, vector.row(h));
    };
    return formula(s, f, q, k, v, Array<T>(), Array<T>());
  };
  for_each_simd_target([&] {
    expect_values(op, ref, {s.q(), s.k(), s.v(), {4, 7}}, 3e-6);
    expect_gradient(op, ref, {s.q(), s.k(), s.v(), {4, 7}}, 3e-5);
  });
}

TEST(Score, TakesACapABiasAndASink) {
  Setting s;
  s.args.softcap = 1.5f;
  const auto op = [&](Context& ctx, const Var& q, const Var& k, const Var& v, const Var& bias,
                      const Var& sink) {
    return attend(ctx, s, plain_product(0.3f), q, k, v, &bias, &sink);
  };
  const auto ref = [&]<class T>(const Array<T>& q, const Array<T>& k, const Array<T>& v,
                                const Array<T>& bias, const Array<T>& sink) {
    const auto f = [](Row<T> a, Row<T> b, size_t) {
      T dot(0);
      for (size_t c = 0; c < a.size(); ++c) dot += a[c] * b[c];
      return T(0.3f) * dot;
    };
    return formula(s, f, q, k, v, bias, sink);
  };
  expect_values(op, ref, {s.q(), s.k(), s.v(), {4, 35, 21}, {4}}, 3e-6);
  expect_gradient(op, ref, {s.q(), s.k(), s.v(), {4, 35, 21}, {4}}, 3e-5);
}

// The largest |a - b| in units of 2^-23 of the largest |b|.
double ulp(const Tensor& a, const Tensor& b) {
  double difference = 0, size = 0;
  for (size_t i = 0; i < b.size(); ++i) {
    difference = std::max(difference, std::abs(double{a.host()[i]} - b.host()[i]));
    size = std::max(size, std::abs(double{b.host()[i]}));
  }
  return difference / size * 0x1p23;
}

// docs/math/score.md states the bound: both compute a score of d terms with an error below
// (d + 3) 2^-24 sum |q_c k_c| scale, here at most 20 * 2^-24 * 11, and a weight moves by as much,
// relatively. Gradients have a second factor of that kind.
TEST(Score, TheComposedPathAndTheTiledKernelAgree) {
  const std::vector<float> slopes = {0.5f, 0.25f, 0.125f, 0.0625f};
  for (const bool full : {false, true}) {
    Setting s;
    s.args.dim = 17;
    s.args.scale = 0.2425f;
    s.queries = Lengths({{7, 5, 0}, {3, 1, 0}, {9, 133, 0}});
    s.keys = Lengths({{7, 9, 0}, {3, 200, 0}, {9, 140, 0}});
    if (full) {
      s.args.band = Band::causal_bottom_right();
      s.args.softcap = 2.0f;
      s.args.slopes = slopes;
      s.args.dropout = {0.25, site_of("encoder.layers.0.self_attn.dropout")};
    }
    const auto inputs = detail::random_inputs({s.q(), s.k(), s.v(), {4, 133, 200}, {4}});
    const auto run = [&](const Score& f) {
      Context ctx(Mode::kTraining, test_pool());
      const Var bias = ctx.leaf(inputs[3]), sink = ctx.leaf(inputs[4]);
      const Var y = attend(ctx, s, f, ctx.leaf(inputs[0]), ctx.leaf(inputs[1]), ctx.leaf(inputs[2]),
                           full ? &bias : nullptr, full ? &sink : nullptr);
      ctx.backward(y, random_tensor(y.shape(), 9));
      std::vector<Tensor> all{y.value()};
      for (size_t i = 0; i < (full ? 5 : 3); ++i) all.push_back(ctx.gradient(inputs[i]));
      return all;
    };
    const std::vector<Tensor> tiled = run(Score::product());
    const std::vector<Tensor> composed = run(plain_product(s.args.scale));
    for (size_t i = 0; i < tiled.size(); ++i) {
      EXPECT_LE(ulp(composed[i], tiled[i]), 32) << "value, or gradient " << i;
    }
  }
}

TEST(Score, ACacheChangesNoBit) {
  constexpr size_t kRows = 150, kSlots = 400;
  const AttentionArgs args{.heads = 4,
                           .kv_heads = 2,
                           .dim = 16,
                           .dim_v = 8,
                           .scale = 0.25f,
                           .softcap = 4.0f,
                           .band = Band::causal_top_left()};
  const Tensor qkv = random_tensor({kRows, 112}, 1), cache = random_tensor({kSlots, 48}, 2);
  for (const Score& f :
       {bounded(random_tensor({16, 16}, 3)), Score::additive(random_tensor({4, 16}, 4))}) {
    Context ctx(Mode::kInference, test_pool());
    const Lengths all = Lengths::single(kRows, 5);
    const Tensor whole =
        ops::attention(ctx, f, {qkv}, {qkv, 64}, {qkv, 96}, all, all, args).value();
    const Tensor weights = ops::attention_weights(ctx, f, {qkv}, {qkv, 64}, all, all, args);
    std::vector<int32_t> slots;
    for (size_t first = 0, step = 1; first < kRows; first += step, step = step % 7 + 1) {
      const size_t rows = std::min(step, kRows - first), size = first + rows;
      for (size_t r = first; r < size; ++r) {
        slots.push_back(static_cast<int32_t>(r * 37 % kSlots));
        std::copy_n(qkv.data() + r * 112 + 64, 48, cache.data() + slots.back() * 48);
      }
      const ops::CachedKeys keys{cache.matrix().slice_cols(0, 32),
                                 cache.matrix().slice_cols(32, 48), slots,
                                 static_cast<uint32_t>(size)};
      const Lengths now({{5, static_cast<uint32_t>(rows), static_cast<uint32_t>(first)}});
      const ops::Columns q{qkv.slice_rows(first, size)};
      expect_same_bits(ops::attention_cached(ctx, f, q, now, {&keys, 1}, args),
                       whole.slice_rows(first, size));
      const Tensor p = ops::attention_weights_cached(ctx, f, q, now, {&keys, 1}, args);
      for (size_t h = 0; h < 4; ++h) {
        for (size_t r = 0; r < rows; ++r) {
          const auto row = p.span().subspan((h * rows + r) * size, size);
          const auto from = weights.span().subspan((h * kRows + first + r) * kRows, size);
          expect_same_bits(Tensor::of({size}, row), Tensor::of({size}, from));
        }
      }
    }
  }
}

TEST(Score, ASentenceDoesNotDependOnItsNeighbours) {
  Setting s;
  s.args.dropout = {0.3, 17};
  const auto inputs = detail::random_inputs({s.q(), s.k(), s.v()});
  const Score f = bounded(random_tensor({7, 7}, 5));
  Context ctx(Mode::kTraining, test_pool());
  const Var y = attend(ctx, s, f, ctx.leaf(inputs[0]), ctx.leaf(inputs[1]), ctx.leaf(inputs[2]));
  ctx.backward(y, random_tensor(y.shape(), 9));
  for (size_t n = 0; n < 3; ++n) {
    const size_t first = s.queries.offset(n), last = s.queries.offset(n + 1);
    const size_t key = s.keys.offset(n), key_end = s.keys.offset(n + 1);
    Setting alone = s;
    alone.queries = Lengths({s.queries[n]});
    alone.keys = Lengths({s.keys[n]});
    Context single(Mode::kTraining, test_pool());
    const Tensor q = inputs[0].slice_rows(first, last), k = inputs[1].slice_rows(key, key_end);
    const Tensor v = inputs[2].slice_rows(key, key_end);
    const Var yn = attend(single, alone, f, single.leaf(q), single.leaf(k), single.leaf(v));
    expect_same_bits(yn.value(), y.value().slice_rows(first, last));
    single.backward(yn, random_tensor(y.shape(), 9).slice_rows(first, last));
    expect_same_bits(single.gradient(q), ctx.gradient(inputs[0]).slice_rows(first, last));
    expect_same_bits(single.gradient(k), ctx.gradient(inputs[1]).slice_rows(key, key_end));
    expect_same_bits(single.gradient(v), ctx.gradient(inputs[2]).slice_rows(key, key_end));
  }
}

TEST(Score, SameBitsForThreadsAndTargets) {
  const Setting s;
  const auto op = [&](Context& ctx, const Var& q, const Var& k, const Var& v, const Var& w) {
    return attend(ctx, s, bounded(w), q, k, v);
  };
  expect_same_bits_everywhere(op, {s.q(), s.k(), s.v(), {7, 7}});
}

TEST(Score, QueriesWithoutKeysGiveZeros) {
  Setting s;
  s.queries = Lengths({{1, 4, 0}, {2, 3, 0}});
  s.keys = Lengths({{1, 0, 0}, {2, 5, 0}});
  s.args.band = Band::window(0, 0);
  const auto inputs = detail::random_inputs({s.q(), s.k(), s.v(), {4, 5}});
  std::fill_n(inputs[3].data() + 5, 5, -std::numeric_limits<float>::infinity());  // row 1
  for (const Score& f : {plain_product(1), Score::additive(random_tensor({4, 7}, 4))}) {
    Context ctx(Mode::kTraining, test_pool());
    const Var bias(inputs[3]);
    const Var y =
        attend(ctx, s, f, ctx.leaf(inputs[0]), ctx.leaf(inputs[1]), ctx.leaf(inputs[2]), &bias);
    ctx.backward(y, random_tensor(y.shape(), 3));
    for (const size_t row : {0, 1, 2, 3, 5}) {
      for (const float o : y.value().matrix().row(row)) EXPECT_EQ(o, 0.0f);
      for (const float dq : ctx.gradient(inputs[0]).matrix().row(row)) EXPECT_EQ(dq, 0.0f);
    }
    EXPECT_NE(y.value().matrix().row(4)[0], 0.0f);
  }
}

TEST(Score, RejectsScoresOfAnotherShape) {
  const Setting s;
  Context ctx(Mode::kInference, test_pool());
  const auto inputs = detail::random_inputs({s.q(), s.k(), s.v()});
  const Score turned(
      [](Context& c, const Var& q, const Var& k, size_t) { return ops::linear(c, k, q, nullptr); });
  EXPECT_THAT([&] { attend(ctx, s, turned, Var(inputs[0]), Var(inputs[1]), Var(inputs[2])); },
              ThrowsMessage<InvalidArgument>("score_table: the score of head 0 of sentence 0 is "
                                             "[9, 5], expected [5, 9], a row for each query"));
}

}  // namespace
}  // namespace rapt

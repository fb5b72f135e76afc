// The same bits: as the scalar definition on every target with fused multiply-add, for any number
// of threads, in any company, by both kernels, with and without a cache.
#include <gtest/gtest.h>

#include "rapt/kernels/attention.h"
#include "rapt/kernels/attention_problem_ref.h"
#include "rapt/kernels/attention_ref.h"
#include "rapt/parallel/flush_denormals.h"
#include "rapt/testing/expect.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rapt/kernels/attention_bits_test.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "rapt/kernels/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rapt::kernels::HWY_NAMESPACE {
float Exp2(float x) { return hn::GetLane(exp2_nonpositive(hn::Set(F32(), x))); }
float Log2(float x) { return hn::GetLane(log2(hn::Set(F32(), x))); }
float Tanh(float x) { return hn::GetLane(tanh(hn::Set(F32(), x))); }
}  // namespace rapt::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rapt::kernels {
HWY_EXPORT(Exp2);
HWY_EXPORT(Log2);
HWY_EXPORT(Tanh);
namespace {

using namespace rapt::kernels::testing;  // NOLINT
using rapt::testing::fma_targets;
using rapt::testing::for_each_simd_target;
using rapt::testing::on_simd_target;
using rapt::testing::test_pool;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr int64_t kOpen = AttentionBand::kOpen;

Pool& one_thread() {
  static Pool pool(1);
  return pool;
}

void expect_bits(const float* x, const float* y, size_t n, const char* what) {
  for (size_t i = 0; i < n; ++i) {
    // A zero that no term was added to has no sign worth keeping.
    if (std::memcmp(x + i, y + i, sizeof(float)) == 0 || (x[i] == 0 && y[i] == 0)) continue;
    FAIL() << what << " differs at " << i << ": " << x[i] << " and " << y[i];
  }
}
void expect_bits(const Floats& x, const Floats& y, const char* what) {
  ASSERT_EQ(x.size(), y.size());
  expect_bits(x.data(), y.data(), x.size(), what);
}
void expect_bits(const Problem& x, const Problem& y) {
  expect_bits(x.out, y.out, "out");
  expect_bits(x.lse, y.lse, "lse");
  expect_bits(x.dq, y.dq, "dq");
  expect_bits(x.dk, y.dk, "dk");
  expect_bits(x.dv, y.dv, "dv");
  expect_bits(x.dbias, y.dbias, "dbias");
  expect_bits(x.dsink, y.dsink, "dsink");
}

void run_definition(const Problem& p) {
  const FlushDenormals flush;
  const ScalarMath math{HWY_DYNAMIC_DISPATCH(Exp2), HWY_DYNAMIC_DISPATCH(Log2),
                        HWY_DYNAMIC_DISPATCH(Tanh)};
  for (size_t s = 0; s < p.sequences.size(); ++s) {
    const AttentionBits bits(p.a, p.sequences[s], math);
    bits.forward();
    bits.backward(p.grads[s], p.c.bias == 0 ? nullptr : p.dbias_of[s]);
  }
}

TEST(AttentionBits, AreTheDefinitionOnEveryTargetWithFma) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name + ", dim " + std::to_string(c.dim));
    Problem definition(c);
    on_simd_target(fma_targets()[0], [&] { run_definition(definition); });
    for (const int64_t target : fma_targets()) {
      on_simd_target(target, [&] {
        Problem p(c);
        p.run(test_pool());
        expect_bits(p, definition);
      });
    }
  }
}

TEST(AttentionBits, DoNotDependOnThreads) {
  for_each_simd_target([] {
    for (const Case& c : cases()) {
      SCOPED_TRACE(c.name);
      Problem one(c), three(c);
      one.run(one_thread());
      three.run(test_pool());
      expect_bits(one, three);
    }
  });
}

// A long sequence: several chunks of keys take turns at dQ. A window leaves chunks without work.
TEST(AttentionBits, OfManyChunksDoNotDependOnThreads) {
  for (const AttentionBand band : {AttentionBand{}, AttentionBand{-kOpen, 0},
                                   AttentionBand{600, kOpen}, AttentionBand{-70, 30}}) {
    const Case c{.name = "",
                 .sizes = {{1300, 1900}, {90, 90}},
                 .heads = 2,
                 .kv_heads = 1,
                 .dim = 8,
                 .dim_v = 8,
                 .band = band};
    Problem one(c);
    one.run(one_thread());
    for (int repeat = 0; repeat < 5; ++repeat) {
      Problem three(c);
      three.run(test_pool());
      expect_bits(one, three);
    }
  }
}

TEST(AttentionBits, DoNotDependOnNeighbours) {
  for_each_simd_target([] {
    for (const Case& c : cases()) {
      SCOPED_TRACE(c.name);
      Problem together(c), alone(c);
      together.run(test_pool());
      for (size_t s = 0; s < c.sizes.size(); ++s) {
        std::vector<uint32_t> plan(attention_plan_size(alone.a, alone.sequences));
        const std::span<const AttentionSequence> one(&alone.sequences[s], 1);
        attention_forward(alone.a, one, plan, one_thread());
        attention_backward(alone.a, one, {&alone.grads[s], 1}, plan, one_thread());
      }
      alone.dbias = together.dbias;  // a sum over sequences
      expect_bits(together, alone);
    }
  });
}

// The rows of one sequence computed `step` at a time, as in decoding: keys up to the last query.
void forward_in_steps(Problem& p, const AttentionSequence& whole, uint32_t step) {
  std::vector<uint32_t> plan(attention_plan_size(p.a, p.sequences));
  for (uint32_t i = 0; i < whole.queries; i += step) {
    AttentionSequence s = whole;
    s.queries = std::min(step, whole.queries - i);
    s.query_position += i;
    s.q += i * p.a.q.row;
    s.out += i * p.a.out.row;
    s.lse += i;
    if (whole.band.last == 0) {
      s.keys = std::min(s.keys, s.query_position + s.queries - s.key_position);
    }
    attention_forward(p.a, {&s, 1}, plan, test_pool());
  }
}

TEST(AttentionBits, OfRowsDoNotDependOnTheRowsComputedTogether) {
  for_each_simd_target([] {
    for (const Case& c : cases()) {
      SCOPED_TRACE(c.name);
      Problem whole(c);
      whole.forward(test_pool());
      for (const uint32_t step : {1u, 3u, 10u}) {
        Problem steps(c);
        for (const AttentionSequence& s : steps.sequences) forward_in_steps(steps, s, step);
        expect_bits(whole.out, steps.out, "out");
        expect_bits(whole.lse, steps.lse, "lse");
      }
    }
  });
}

// Keys and values in any slots of a cache are read as if they stood in order.
TEST(AttentionBits, DoNotDependOnSlots) {
  for_each_simd_target([] {
    for (Case c : cases()) {
      if (c.fused) continue;
      SCOPED_TRACE(c.name);
      Problem plain(c);
      plain.forward(test_pool());
      c.slots = true;
      Problem scattered(c);
      scattered.forward(test_pool());
      expect_bits(plain.out, scattered.out, "out");
      expect_bits(plain.lse, scattered.lse, "lse");
    }
  });
}

// Keys whose heads are interleaved are read by a kernel of their own where queries are few.
TEST(AttentionBits, DoNotDependOnInterleavedHeads) {
  struct Heads {
    size_t heads, kv_heads, dim_v;
  };
  for_each_simd_target([] {
    for (Case c : cases()) {
      if (c.fused) continue;
      SCOPED_TRACE(c.name);
      for (const Heads& h :
           {Heads{4, 4, c.dim_v}, Heads{8, 4, 48}, Heads{8, 8, 16}, Heads{16, 16, 32}}) {
        c.heads = h.heads, c.kv_heads = h.kv_heads, c.dim_v = h.dim_v;
        Problem plain(c), interleaved(c);
        plain.forward(test_pool());
        Attention& a = interleaved.a;
        const size_t width = c.kv_heads * c.dim, rows = plain.k.size() / a.k.row;
        interleave_heads({plain.k.data(), rows, width, a.k.row}, c.kv_heads, {},
                         {interleaved.k.data(), rows, width, a.k.row});
        a.k.head = 1, a.k_step = c.kv_heads;
        for (const uint32_t step : {1u, 3u, 10u, 64u}) {
          for (const AttentionSequence& s : interleaved.sequences) {
            forward_in_steps(interleaved, s, step);
          }
          expect_bits(plain.out, interleaved.out, "out");
          expect_bits(plain.lse, interleaved.lse, "lse");
        }
      }
    }
  });
}

// A window needs the last keys only: those before may have left the cache.
TEST(AttentionBits, DoNotDependOnKeysThatAWindowDropped) {
  for_each_simd_target([] {
    const Case c{.name = "", .sizes = {{400, 400}}, .dim = 24, .band = {-50, 0}, .slopes = true};
    Problem whole(c), dropped(c);
    whole.forward(test_pool());
    std::vector<uint32_t> plan(attention_plan_size(dropped.a, dropped.sequences));
    for (uint32_t i = 0; i < 400; ++i) {
      AttentionSequence s = dropped.sequences[0];
      s.queries = 1;
      s.query_position = i;
      s.key_position = i < 60 ? 0 : i - 60 + i % 7;
      s.keys = i + 1 - s.key_position;
      s.q += i * dropped.a.q.row;
      s.k += s.key_position * dropped.a.k.row;
      s.v += s.key_position * dropped.a.v.row;
      s.out += i * dropped.a.out.row;
      s.lse += i;
      attention_forward(dropped.a, {&s, 1}, plan, test_pool());
    }
    expect_bits(whole.out, dropped.out, "out");
    expect_bits(whole.lse, dropped.lse, "lse");
  });
}

// P is what forward makes of V = identity.
TEST(AttentionBits, OfWeightsAreThoseOfForward) {
  for_each_simd_target([] {
    for (Case c : cases()) {
      if (c.fused) continue;
      SCOPED_TRACE(c.name);
      c.drop = 0;
      size_t keys = 1;
      for (const Size& s : c.sizes) keys = std::max<size_t>(keys, s.keys);
      c.dim_v = keys;
      Problem p(c);
      std::fill(p.v.begin(), p.v.end(), 0.0f);
      for (size_t s = 0; s < c.sizes.size(); ++s) {
        for (size_t h = 0; h < c.kv_heads; ++h) {
          for (size_t j = 0; j < c.sizes[s].keys; ++j) {
            p.v[p.v_at(s) + j * p.a.v.row + h * keys + j] = 1.0f;
          }
        }
      }
      p.forward(test_pool());
      std::vector<Floats> weights;
      std::vector<float*> pointers;
      for (const Size& s : c.sizes) {
        weights.emplace_back(c.heads * s.queries * s.keys + 1, 7.0f);
        pointers.push_back(weights.back().data());
      }
      std::vector<uint32_t> plan(attention_plan_size(p.a, p.sequences));
      for (size_t s = 0; s < c.sizes.size(); ++s) {
        const size_t n = size_t{c.sizes[s].queries} * c.sizes[s].keys;
        attention_weights(p.a, {&p.sequences[s], 1}, {&pointers[s], 1}, n, plan, test_pool());
        for (size_t row = 0; row < c.heads * c.sizes[s].queries; ++row) {
          const size_t h = row / c.sizes[s].queries, i = row % c.sizes[s].queries;
          expect_bits(&weights[s][row * c.sizes[s].keys],
                      p.sequences[s].out + i * p.a.out.row + h * keys, c.sizes[s].keys, "weights");
        }
      }
    }
  });
}

}  // namespace
}  // namespace rapt::kernels
#endif

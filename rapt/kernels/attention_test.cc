// Every kernel on every SIMD target against the formula in double and its derivative on dual
// numbers, and what must hold whatever the numbers are.
#include "rapt/kernels/attention.h"

#include <gtest/gtest.h>

#include "rapt/kernels/attention_problem_ref.h"
#include "rapt/kernels/attention_ref.h"
#include "rapt/testing/expect.h"

namespace rapt::kernels {
namespace {

using namespace rapt::kernels::testing;  // NOLINT
using rapt::testing::Dual;
using rapt::testing::for_each_simd_target;
using rapt::testing::test_pool;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// The inputs as numbers of type T, each moved along its direction, if it has one.
struct Directions {
  Floats q, k, v, bias, sink;
};
template <class T>
std::vector<T> numbers(const Floats& x, const Floats& direction) {
  std::vector<T> y(x.begin(), x.end());
  if constexpr (std::is_same_v<T, Dual>) {
    for (size_t i = 0; i < direction.size(); ++i) y[i].d = direction[i];
  }
  return y;
}

template <class T>
struct Reference {
  std::vector<T> out;
  std::vector<double> lse;

  explicit Reference(const Problem& p, const Directions& d = {})
      : out(p.out.size()), lse(p.lse.size()) {
    const auto q = numbers<T>(p.q, d.q), k = numbers<T>(p.k, d.k), v = numbers<T>(p.v, d.v);
    const auto bias = numbers<T>(p.bias, d.bias), sink = numbers<T>(p.sink, d.sink);
    const auto &keys = p.c.fused ? q : k, &values = p.c.fused ? q : v;
    for (size_t s = 0; s < p.sequences.size(); ++s) {
      const AttentionSequence& sequence = p.sequences[s];
      std::vector<T> part(sequence.queries * p.a.out.row);
      std::vector<double> part_lse(p.lse.size());
      const auto from = [](const std::vector<T>& x, size_t at) {
        return Row<T>(x.data() + at, x.size() - at);
      };
      attention_ref<T>(p.a, sequence, from(q, p.q_at(s)), from(keys, p.k_at(s)),
                       from(values, p.v_at(s)), bias, p.c.sink ? Row<T>(sink) : Row<T>(), part,
                       nullptr, &part_lse);
      std::copy(part.begin(), part.end(),
                out.begin() + static_cast<ptrdiff_t>(p.first_query[s] * p.a.out.row));
      for (size_t h = 0; h < p.a.heads; ++h) {
        for (size_t i = 0; i < sequence.queries; ++i) {
          const size_t at = h * p.a.lse_stride + i;
          lse[at + p.first_query[s]] = part_lse[at];
        }
      }
    }
  }
};

// The worst error against the largest expected value, which is of order 1.
void expect_close(const Floats& value, const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(value.size(), expected.size());
  double scale = 0.1, worst = 0;
  for (size_t i = 0; i < value.size(); ++i) {
    if (expected[i] == -kInf && value[i] == -kInf) continue;
    scale = std::max(scale, std::abs(expected[i]));
    const double error = std::abs(value[i] - expected[i]);
    if (!(error <= worst)) worst = error;  // NaN counts
  }
  EXPECT_LE(worst / scale, tolerance);
}

TEST(Attention, MatchesTheFormula) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const Reference<double> reference((Problem(c)));
    for_each_simd_target([&] {
      Problem p(c);
      p.forward(test_pool());
      const double tolerance = c.range > 10 ? 1e-4 : 3e-6;
      expect_close(p.out, reference.out, tolerance);
      expect_close(p.lse, reference.lse, tolerance);
    });
  }
}

// <gradient, direction> is the derivative of <dout, out> in that direction, for each input.
TEST(Attention, GradientIsTheDerivative) {
  for (const Case& c : cases()) {
    if (c.range > 10) continue;  // the derivative is as sharp as the softmax
    SCOPED_TRACE(c.name);
    const Problem drawn(c);
    Directions none;
    struct Input {
      const char* name;
      Floats Directions::*direction;
      const Floats Problem::*value;
      Floats Problem::*gradient;
    };
    for (const Input& input : std::initializer_list<Input>{
             {"q", &Directions::q, &Problem::q, &Problem::dq},
             {"k", &Directions::k, &Problem::k, &Problem::dk},
             {"v", &Directions::v, &Problem::v, &Problem::dv},
             {"bias", &Directions::bias, &Problem::bias, &Problem::dbias},
             {"sink", &Directions::sink, &Problem::sink, &Problem::dsink}}) {
      SCOPED_TRACE(input.name);
      if (c.fused && (input.direction == &Directions::k || input.direction == &Directions::v)) {
        continue;  // their gradients are columns of dq
      }
      if (input.direction == &Directions::sink && !c.sink) continue;
      Directions d;
      d.*input.direction = random_floats((drawn.*input.value).size(), 8);
      const Reference<Dual> reference(drawn, d);
      double expected = 0;
      for (size_t i = 0; i < drawn.dout.size(); ++i) expected += drawn.dout[i] * reference.out[i].d;
      for_each_simd_target([&] {
        Problem p(c);
        Floats& gradient = p.*input.gradient;
        std::fill(gradient.begin(), gradient.end(), 0.0f);  // gaps between rows count as 0
        p.run(test_pool());
        double actual = 0, size = 0;
        for (size_t i = 0; i < gradient.size(); ++i) {
          const double x =
              double{gradient[i]} * (d.*input.direction)[i % (d.*input.direction).size()];
          actual += x;
          size += x * x;
        }
        EXPECT_NEAR(actual, expected, 3e-5 * (std::sqrt(size) + 0.01));
      });
    }
  }
}

TEST(Attention, NaNReachesItsRowsAndNoOthers) {
  for_each_simd_target([] {
    for (uint32_t queries : {3u, 40u}) {  // both kernels
      Case c{.name = "", .sizes = {{queries, 200}}, .heads = 1, .kv_heads = 1};
      for (int where = 0; where < 3; ++where) {
        Problem p(c);
        if (where == 0) p.q[2 * p.a.q.row] = kNaN;
        if (where == 1) p.k[2 * p.a.k.row] = kNaN;
        if (where == 2) p.v[2 * p.a.v.row] = kNaN;
        p.forward(test_pool());
        for (size_t i = 0; i < queries; ++i) {
          for (size_t d = 0; d < c.dim_v; ++d) {
            const bool expected = where == 0 ? i == 2 : where == 1 ? true : d == 0;
            EXPECT_EQ(std::isnan(p.out[i * p.a.out.row + d]), expected) << where << ' ' << i;
          }
        }
      }
    }
  });
}

TEST(Attention, RowsWithoutKeysAreZeroBothWays) {
  for_each_simd_target([] {
    Case c{.name = "", .sizes = {{20, 30}, {2, 9}}, .heads = 1, .kv_heads = 1, .bias = 1};
    Problem p(c);
    std::fill(p.bias.begin(), p.bias.end(), -kInf);
    p.run(test_pool());
    EXPECT_EQ(p.out, Floats(p.out.size(), 0.0f));
    EXPECT_EQ(p.lse, Floats(p.lse.size(), -kInf));
    for (size_t i = 0; i < 22; ++i) {
      for (size_t d = 0; d < c.dim; ++d) EXPECT_EQ(p.dq[i * p.a.q.row + d], 0.0f);
    }
    EXPECT_EQ(p.dv, Floats(p.dv.size(), 0.0f));
    EXPECT_EQ(p.dbias, Floats(p.dbias.size(), 0.0f));
  });
}

// Equal scores and V = identity: out is the mask itself.
TEST(Attention, DropsWhatPhiloxSays) {
  for_each_simd_target([] {
    constexpr uint32_t kKeys = 29, kDrop = 20000;
    Case c{.name = "", .sizes = {{40, kKeys, 100, 64}}, .dim_v = kKeys, .drop = kDrop, .range = 0};
    Problem p(c);
    std::fill(p.v.begin(), p.v.end(), 0.0f);
    for (size_t j = 0; j < kKeys; ++j) {
      for (size_t h = 0; h < 2; ++h) p.v[j * p.a.v.row + h * kKeys + j] = 1.0f;
    }
    p.forward(test_pool());
    const uint64_t id = p.sequences[0].id;
    for (uint32_t h = 0; h < 2; ++h) {
      for (uint32_t i = 0; i < 40; ++i) {
        for (uint32_t j = 0; j < kKeys; ++j) {
          const int draw = draw16(p.a.dropout_key, {id, 100 + i}, 64 + j, h);
          const float kept = 1.0f / kKeys * (65536.0f / (65536 - kDrop));
          const float expected = draw >= static_cast<int>(kDrop) - 32768 ? kept : 0.0f;
          EXPECT_NEAR(p.out[i * p.a.out.row + h * kKeys + j], expected, 1e-6f);
        }
      }
    }
  });
}

}  // namespace
}  // namespace rapt::kernels

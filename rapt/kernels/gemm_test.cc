// The bits of C depend on nothing but the operands: every target with FMA, every number of threads,
// row by row or all at once, packed or not, and any blocking give those of the scalar definition.
#include "rapt/kernels/gemm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "rapt/kernels/gemm_ref.h"
#include "rapt/testing/expect.h"

namespace rapt::kernels {
namespace {

using testing::fma_targets;
using testing::on_simd_target;
using testing::random_tensor;
using testing::simd_targets;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// A matrix in rows that are longer than it, with nothing behind the last one: a sanitizer sees
// every access beyond the end.
class Padded {
 public:
  Padded(size_t rows, size_t cols, uint32_t salt, size_t pad = 3)
      : rows_(rows), cols_(cols), stride_(cols + pad), values_(rows * stride_ - (rows ? pad : 0)) {
    const Tensor t = random_tensor({values_.size() + 1}, salt);
    std::copy_n(t.data(), values_.size(), values_.begin());
  }
  MatrixView<const float> view() const { return {values_.data(), rows_, cols_, stride_}; }
  MatrixView<float> mutable_view() { return {values_.data(), rows_, cols_, stride_}; }
  std::vector<float>& values() { return values_; }

 private:
  size_t rows_, cols_, stride_;
  std::vector<float> values_;
};

struct Packed {
  Packed(Op op, MatrixView<const float> b, Pool& pool)
      : memory(Tensor::zeros({PackedB::floats(op == Op::kNT ? b.rows() : b.cols(),
                                              op == Op::kNT ? b.cols() : b.rows()) +
                              1})),
        form(pack_b(op, b, memory.span(), pool)) {}
  Tensor memory;
  PackedB form;
};

Pool& pool_of(size_t threads) {
  static Pool one(1), two(2), three(3);
  return threads == 1 ? one : threads == 2 ? two : three;
}

struct Case {
  size_t m, n, k;
};

struct Operands {
  Operands(Op op_, Case s_)
      : op(op_),
        s(s_),
        a(op == Op::kTN ? s.k : s.m, op == Op::kTN ? s.m : s.k, 1),
        b(op == Op::kNT ? s.n : s.k, op == Op::kNT ? s.k : s.n, 2),
        c0(s.m, s.n, 3),
        bias(1, s.n, 4, 0) {}
  Gemm gemm(bool accumulate, bool epilogue) const {
    Gemm g{.op = op, .a = a.view(), .b = b.view(), .c = {nullptr, s.m, s.n}};
    g.accumulate = accumulate;
    if (epilogue) {
      g.alpha = 0.37f;
      g.bias = bias.view().row(0);
      g.activation = Activation::kRelu;
    }
    return g;
  }
  Op op;
  Case s;
  Padded a, b, c0, bias;
};

std::vector<float> expected(const Operands& o, const Gemm& g, bool fused) {
  const GemmRef<float> ref{.op = g.op,
                           .a = g.a,
                           .b = g.b,
                           .alpha = g.alpha,
                           .accumulate = g.accumulate,
                           .bias = g.bias.empty() ? nullptr : g.bias.data()};
  Padded c = o.c0;
  const MatrixView<float> view = c.mutable_view();
  for (size_t i = 0; i < o.s.m; ++i) {
    for (float& v : view.row(i)) {
      const size_t j = static_cast<size_t>(&v - view.row(i).data());
      const float z = ref(i, j, v, [&](float x, float y, float add) {
        if (fused) return std::fma(x, y, add);
        const volatile float product = x * y;
        return product + add;
      });
      v = activation_ref(g.activation, z);
    }
  }
  return c.values();
}

// Calls f on a copy of C and compares the bits.
template <class F>
void expect_bits(const Operands& o, const Gemm& g, const std::vector<float>& want,
                 const std::string& what, const F& f) {
  Padded c = o.c0;
  Gemm copy = g;
  copy.c = c.mutable_view();
  f(copy);
  const auto same = [](float x, float y) {
    return std::bit_cast<uint32_t>(x) == std::bit_cast<uint32_t>(y);
  };
  if (std::ranges::equal(c.values(), want, same)) return;
  const char* op = g.op == Op::kNN ? "NN" : g.op == Op::kNT ? "NT" : "TN";
  ADD_FAILURE() << what << ": " << op << " m " << o.s.m << " n " << o.s.n << " k " << o.s.k
                << " accumulate " << g.accumulate << " epilogue " << !g.bias.empty();
}

void check_case(Op op, Case s, bool fused) {
  const Operands o(op, s);
  const Packed packed(op, o.b.view(), pool_of(3));
  for (const bool accumulate : {false, true}) {
    for (const bool epilogue : {false, true}) {
      const Gemm base = o.gemm(accumulate, epilogue);
      const std::vector<float> want = expected(o, base, fused);
      const auto expect = [&](const std::string& what, const auto& f) {
        expect_bits(o, base, want, what, f);
      };
      for (const size_t threads : {1, 2, 3}) {
        const std::string on = std::to_string(threads) + " threads";
        Pool& pool = pool_of(threads);
        expect(on, [&](const Gemm& g) { gemm(g, pool); });
        expect("packed, " + on, [&](const Gemm& g) { gemm(g, packed.form, pool); });
      }
      expect("small blocks", [&](const Gemm& g) {
        gemm(g, {.columns = 64, .direct_below = 0, .pack_a = 1}, pool_of(2));
      });
      expect("A and B in place", [&](const Gemm& g) {
        gemm(g, {.columns = 96, .direct_below = 1000, .pack_a = 0}, pool_of(1));
      });
      expect("row by row", [&](const Gemm& g) {
        for (size_t i = 0; i < s.m; ++i) {
          Gemm row = g;
          row.a = op == Op::kTN ? g.a.slice_cols(i, i + 1) : g.a.slice_rows(i, i + 1);
          row.c = g.c.slice_rows(i, i + 1);
          i % 2 ? gemm(row, pool_of(1)) : gemm(row, packed.form, pool_of(1));
        }
      });
      expect("column ranges", [&](const Gemm& g) {
        for (size_t j = 0, end; j < s.n; j = end) {
          end = std::min(s.n, j + 1 + (j * 7 + 13) % 70);
          Gemm part = g;
          part.b = op == Op::kNT ? g.b.slice_rows(j, end) : g.b.slice_cols(j, end);
          part.c = g.c.slice_cols(j, end);
          if (!g.bias.empty()) part.bias = g.bias.subspan(j, end - j);
          gemm(part, pool_of(1));
        }
      });
    }
  }
}

class GemmBits : public ::testing::TestWithParam<Op> {};

TEST_P(GemmBits, AreThoseOfTheScalarDefinition) {
  std::vector<Case> cases = {{1, 1, 1},       {1, 1, 0},      {3, 5, 7},      {1, 128, 128},
                             {2, 100, 33},    {5, 31, 64},    {14, 32, 512},  {15, 33, 513},
                             {64, 128, 128},  {64, 257, 100}, {29, 97, 1100}, {65, 256, 512},
                             {13, 320, 2048}, {30, 64, 1024}, {200, 48, 300}, {64, 96, 1600},
                             {7, 16, 17}};
  for (uint32_t i = 0; i < 12; ++i) {
    const PhiloxBlock r = philox({i, 0, 0, 0}, 1);
    cases.push_back({1 + r[0] % 80, 1 + r[1] % 300, 1 + r[2] % 700});
  }
  const std::vector<int64_t> fused = fma_targets();
  for (const int64_t target : simd_targets()) {
    on_simd_target(target, [&] {
      for (const Case& s : cases) check_case(GetParam(), s, std::ranges::count(fused, target) != 0);
    });
  }
}
INSTANTIATE_TEST_SUITE_P(Ops, GemmBits, ::testing::Values(Op::kNN, Op::kNT, Op::kTN));

// The blocks of k as the documentation describes them.
TEST(Gemm, BlocksOfKAreEqualAndAtMost512) {
  EXPECT_EQ(k_block(0), 16u);
  EXPECT_EQ(k_block(1), 16u);
  EXPECT_EQ(k_block(512), 512u);
  EXPECT_EQ(k_block(513), 272u);
  EXPECT_EQ(k_block(2048), 512u);
  EXPECT_EQ(k_block(1100), 368u);
}

constexpr Activation kActivations[] = {Activation::kNone, Activation::kRelu,
                                       Activation::kGelu, Activation::kGeluTanh,
                                       Activation::kSilu, Activation::kSigmoid};

Tensor activated(const Operands& o, Activation activation, Pool& pool, Tensor* pre = nullptr) {
  const Tensor c = Tensor::zeros({o.s.m, o.s.n});
  Gemm g = o.gemm(false, true);
  g.activation = activation;
  g.c = c.matrix();
  if (pre != nullptr) {
    *pre = Tensor::zeros({o.s.m, o.s.n});
    g.pre_activation = pre->matrix();
  }
  gemm(g, pool);
  return c;
}

TEST(Gemm, ActivationsFollowTheirFormulas) {
  const Operands o(Op::kNT, {33, 77, 20});
  testing::for_each_simd_target([&] {
    for (const Activation activation : kActivations) {
      Tensor pre;
      const Tensor y = activated(o, activation, pool_of(2), &pre);
      testing::Array<double> want = testing::to_array(pre);
      for (double& v : want.data) v = activation_ref(activation, v);
      testing::expect_near(y, want, 3e-7);
    }
  });
}

TEST(Gemm, StoresWhatTheActivationWasAppliedTo) {
  const Operands o(Op::kNT, {33, 77, 600});
  testing::for_each_simd_target([&] {
    const Tensor plain = activated(o, Activation::kNone, pool_of(1));
    for (const Activation activation : kActivations) {
      Tensor pre;
      const Tensor with = activated(o, activation, pool_of(2), &pre);
      testing::expect_same_bits(pre, plain);
      testing::expect_same_bits(with, activated(o, activation, pool_of(1)));
    }
  });
}

// A vector or a single element of it: the same bits wherever a value stands.
TEST(Gemm, ActivationsHaveTheSameBitsInEveryPlaceAndOnEveryFmaTarget) {
  const Operands o(Op::kNT, {64, 200, 33});
  for (const Activation activation : kActivations) {
    std::vector<Tensor> results;
    for (const int64_t target : fma_targets()) {
      on_simd_target(target, [&] {
        results.push_back(activated(o, activation, pool_of(1)));
        results.push_back(activated(o, activation, pool_of(3)));
        const Tensor shifted = Tensor::zeros({o.s.m, o.s.n});
        for (size_t j = 0; j < o.s.n; j += 5) {
          Gemm g = o.gemm(false, true);
          g.activation = activation;
          g.b = g.b.slice_rows(j, j + 5);
          g.bias = g.bias.subspan(j, 5);
          g.c = shifted.matrix().slice_cols(j, j + 5);
          gemm(g, pool_of(1));
        }
        results.push_back(shifted);
      });
    }
    for (const Tensor& y : results) testing::expect_same_bits(y, results[0]);
  }
}

TEST(Gemm, KeepsNaN) {
  Operands o(Op::kNN, {3, 40, 5});
  o.a.mutable_view().row(1)[2] = kNaN;
  testing::for_each_simd_target([&] {
    for (const Activation activation : kActivations) {
      const Tensor y = activated(o, activation, pool_of(1));
      for (size_t j = 0; j < 40; ++j) {
        EXPECT_FALSE(std::isnan(y.matrix().row(0)[j]));
        EXPECT_TRUE(std::isnan(y.matrix().row(1)[j]));
      }
    }
  });
}

TEST(Gemm, PackedFormIsTheSameOnEveryTargetAndHoldsEveryElement) {
  for (const Op op : {Op::kNN, Op::kNT}) {
    const Operands o(op, {1, 75, 37});
    std::vector<Tensor> forms;
    testing::for_each_simd_target([&] {
      const Packed packed(op, o.b.view(), pool_of(2));
      for (size_t k = 0; k < 37; ++k) {
        for (size_t j = 0; j < 75; ++j) {
          const float want = op == Op::kNT ? o.b.view().row(j)[k] : o.b.view().row(k)[j];
          ASSERT_EQ(packed.form.at(k, j), want);
        }
      }
      forms.push_back(packed.memory);
    });
    for (const Tensor& form : forms) testing::expect_same_bits(form, forms[0]);
  }
}

TEST(Gemm, EmptyMatrices) {
  for (const Case s : {Case{0, 5, 3}, Case{5, 0, 3}}) {
    for (const Op op : {Op::kNN, Op::kNT, Op::kTN}) {
      const Operands o(op, s);
      Gemm g = o.gemm(false, false);
      gemm(g, pool_of(2));  // no element, no access
    }
  }
}

}  // namespace
}  // namespace rapt::kernels

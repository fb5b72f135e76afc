#include "rapt/ops/rotary.h"

#include <gmock/gmock.h>

#include "rapt/kernels/rotary_ref.h"
#include "rapt/testing/everywhere.h"

namespace rapt {
namespace {

using kernels::RotaryColumn;
using kernels::RotaryPairs;
using ::testing::ThrowsMessage;
using namespace testing;

constexpr double kBase = 100;
constexpr RotaryPairs kPairs[] = {RotaryPairs::kNeighbours, RotaryPairs::kHalves};

// C and S of all columns of a head, by position.
Tensor table(size_t positions, size_t dim, RotaryPairs pairs) {
  const Tensor t = Tensor::zeros({positions, 2 * dim});
  for (size_t p = 0; p < positions; ++p) {
    for (size_t c = 0; c < dim; ++c) {
      const RotaryColumn column(c, dim, pairs);
      const double angle = kernels::rotary_angle(p, column.pair, dim, kBase);
      t.matrix().row(p)[c] = static_cast<float>(std::cos(angle));
      t.matrix().row(p)[dim + c] =
          static_cast<float>(column.first ? -std::sin(angle) : std::sin(angle));
    }
  }
  return t;
}

// Rows of several sentences, one of them with a past.
Lengths sentences() { return Lengths({{7, 5, 0}, {3, 1, 11}, {9, 80, 3}}); }

auto turn(size_t dim, size_t heads, RotaryPairs pairs) {
  return [=](Context& ctx, const Var& x) {
    return ops::rotary(ctx, x, sentences(), table(83, dim, pairs), heads, pairs);
  };
}
auto formula(size_t dim, size_t heads, RotaryPairs pairs) {
  return [=]<class T>(const Array<T>& x) {
    Array<T> y = x;
    for (size_t r = 0; r < x.rows(); ++r) {
      for (size_t h = 0; h < heads; ++h) {
        const auto turned = kernels::rotary_ref<T>(x.row(r).subspan(h * dim, dim),
                                                   sentences().key(r).position, kBase, pairs);
        std::ranges::copy(turned, &y(r, h * dim));
      }
    }
    return y;
  };
}

TEST(Rotary, MatchesTheFormulaAndItsDerivative) {
  for_each_simd_target([] {
    for (const RotaryPairs pairs : kPairs) {
      for (const size_t dim : {2, 6, 16, 50}) {
        const Shape x = {86, 3 * dim + 5};  // the last columns are not turned
        expect_values(turn(dim, 3, pairs), formula(dim, 3, pairs), {x}, 1e-6);
        expect_gradient(turn(dim, 3, pairs), formula(dim, 3, pairs), {x}, 1e-5);
      }
    }
  });
}

TEST(Rotary, HasTheBitsOfItsScalarDefinition) {
  for (const RotaryPairs pairs : kPairs) {
    const size_t dim = 22;
    const Tensor x = random_tensor({86, dim}, 1), t = table(83, dim, pairs);
    const Tensor expected = Tensor::zeros(x.shape());
    for (size_t r = 0; r < x.rows(); ++r) {
      const auto row = x.matrix().row(r), cs = t.matrix().row(sentences().key(r).position);
      for (size_t c = 0; c < dim; ++c) {
        const float partner = row[RotaryColumn(c, dim, pairs).partner];
        expected.matrix().row(r)[c] = kernels::rotary_bits(row[c], partner, cs[c], cs[dim + c]);
      }
    }
    for (const int64_t target : fma_targets()) {
      on_simd_target(target, [&] {
        Context ctx(Mode::kInference, test_pool());
        expect_same_bits(turn(dim, 1, pairs)(ctx, Var(x)).value(), expected);
      });
    }
    expect_same_bits_everywhere(turn(dim, 2, pairs), {{86, 2 * dim + 3}});
  }
}

// A product of a turned query and a turned key depends on the distance of their positions alone.
TEST(Rotary, ProductsDependOnDistance) {
  constexpr size_t kDim = 16;
  for (const RotaryPairs pairs : kPairs) {
    const Tensor x = random_tensor({2, kDim}, 1), t = table(4096, kDim, pairs);
    const auto product = [&](uint32_t i, uint32_t j) {
      Context ctx(Mode::kInference, test_pool());
      const Tensor y =
          ops::rotary(ctx, Var(x), Lengths({{0, 1, i}, {1, 1, j}}), t, 1, pairs).value();
      double dot = 0;
      for (size_t c = 0; c < kDim; ++c) dot += double{y.host()[c]} * y.host()[kDim + c];
      return dot;
    };
    for (const uint32_t distance : {0, 1, 7, 300}) {
      for (const uint32_t shift : {1, 64, 3000}) {
        EXPECT_NEAR(product(shift, shift + distance), product(0, distance), 1e-5);
        EXPECT_NEAR(product(shift + distance, shift), product(distance, 0), 1e-5);
      }
    }
    EXPECT_GT(std::abs(product(0, 7) - product(0, 1)), 0.1);  // and it does depend on it
  }
}

TEST(Rotary, RejectsWhatDoesNotFit) {
  Context ctx(Mode::kInference, test_pool());
  const auto call = [&](const Shape& x, const Shape& table, size_t heads, uint32_t past = 0) {
    return [&ctx, x, table, heads, past] {
      ops::rotary(ctx, Tensor::zeros(x), Lengths({{0, 3, past}}), Tensor::zeros(table), heads,
                  RotaryPairs::kHalves);
    };
  };
  EXPECT_NO_THROW(call({3, 16}, {4, 16}, 2)());
  EXPECT_THAT(call({2, 16}, {4, 16}, 2),
              ThrowsMessage<InvalidArgument>("rotary: x is [2, 16], expected a matrix of 3 rows"));
  EXPECT_THAT(
      call({3, 16}, {4, 16}, 3),
      ThrowsMessage<InvalidArgument>("rotary: 3 heads of 8 columns in a matrix that has 16"));
  EXPECT_THAT(call({3, 16}, {4, 14}, 2),
              ThrowsMessage<InvalidArgument>("rotary: the table is [4, 14], expected two columns "
                                             "for each of an even number of columns of a head"));
  EXPECT_THAT(call({3, 16}, {4, 16}, 2, 2),
              ThrowsMessage<InvalidArgument>(
                  "rotary: position 4 of sequence 0 is beyond the table of 4 positions"));
}

}  // namespace
}  // namespace rapt

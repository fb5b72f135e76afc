#include "rapt/ops/score_table.h"

#include <gmock/gmock.h>

#include "rapt/testing/everywhere.h"

namespace rapt {
namespace {

using ::testing::ThrowsMessage;
using namespace testing;

constexpr size_t kHeads = 2;
const Lengths& queries() {
  static const Lengths lengths({{7, 3, 0}, {3, 1, 2}});
  return lengths;
}
const Lengths& keys() {
  static const Lengths lengths({{7, 2, 0}, {3, 4, 1}});
  return lengths;
}

TEST(HeadRows, AreAPartAndGiveTheirGradientBack) {
  const auto op = [](Context& ctx, const Var& x) {
    return ops::head_rows(ctx, {{x, 1}, queries(), kHeads, 3}, 1, 1);
  };
  const auto ref = []<class T>(const Array<T>& x) {
    Array<T> y({1, 3});
    for (size_t c = 0; c < 3; ++c) y(0, c) = x(3, 1 + 3 + c);
    return y;
  };
  expect_values(op, ref, {{4, 8}}, 0);
  expect_gradient(op, ref, {{4, 8}}, 1e-6);
}

// Sentence 0 has scores [3, 2], sentence 1 [1, 4]; the table [2, 4, 4] has zeros behind them.
constexpr auto table = [](Context& ctx, const Var& a, const Var& b, const Var& c, const Var& d) {
  return ops::score_table(ctx, {a, b, c, d}, kHeads, queries(), keys());
};
constexpr auto table_ref = []<class T>(const Array<T>& a, const Array<T>& b, const Array<T>& c,
                                       const Array<T>& d) {
  Array<T> y({kHeads, 4, 4});
  for (size_t h = 0; h < kHeads; ++h) {
    const Array<T>&first = h == 0 ? a : b, &second = h == 0 ? c : d;
    for (size_t i = 0; i < 3; ++i) {
      for (size_t j = 0; j < 2; ++j) y(4 * h + i, j) = first(i, j);
    }
    for (size_t j = 0; j < 4; ++j) y(4 * h + 3, j) = second(0, j);
  }
  return y;
};

TEST(ScoreTable, HoldsThePartsAndSplitsTheGradient) {
  expect_values(table, table_ref, {{3, 2}, {3, 2}, {1, 4}, {1, 4}}, 0);
  expect_gradient(table, table_ref, {{3, 2}, {3, 2}, {1, 4}, {1, 4}}, 1e-6);
}

TEST(ScoreTable, ABiasIsAddedByAbsolutePositions) {
  for (const Shape& shape : {Shape{3, 5}, Shape{2, 4, 6}, Shape{2, 1, 3, 5}, Shape{2, 2, 3, 5}}) {
    const auto op = [](Context& ctx, const Var& x, const Var& bias) {
      return ops::add_bias(ctx, x, bias, kHeads, queries(), keys());
    };
    const auto ref = []<class T>(const Array<T>& x, const Array<T>& bias) {
      Array<T> y = x;
      const size_t rank = bias.shape.rank(), rows = bias.shape[rank - 2];
      const size_t heads = rank >= 3 ? bias.shape[rank - 3] : 1;
      for (size_t s = 0; s < 2; ++s) {
        for (size_t h = 0; h < kHeads; ++h) {
          const size_t matrix = (rank == 4 ? s * heads : 0) + (heads == 1 ? 0 : h);
          for (size_t i = 0; i < queries()[s].size; ++i) {
            for (size_t j = 0; j < keys()[s].size; ++j) {
              y(4 * h + queries().offset(s) + i, j) +=
                  bias(matrix * rows + queries()[s].past + i, keys()[s].past + j);
            }
          }
        }
      }
      return y;
    };
    expect_values(op, ref, {{kHeads, 4, 4}, shape}, 1e-6);
    expect_gradient(op, ref, {{kHeads, 4, 4}, shape}, 1e-6);
  }
}

TEST(ScoreTable, RejectsWhatDoesNotFit) {
  Context ctx(Mode::kInference, test_pool());
  const Var x(Tensor::zeros({kHeads, 4, 4})), part(Tensor::zeros({3, 2}));
  EXPECT_THAT([&] { table(ctx, part, part, part, part); },
              ThrowsMessage<InvalidArgument>("score_table: the score of head 0 of sentence 1 is "
                                             "[3, 2], expected [1, 4], a row for each query"));
  EXPECT_THAT(
      [&] {
        ops::add_bias(ctx, x, Var(Tensor::zeros({3, 4})), kHeads, queries(), keys());
      },
      ThrowsMessage<InvalidArgument>("attention: bias is [3, 4], the positions need [3, 5]"));
}

}  // namespace
}  // namespace rapt

#include "rapt/ops/add_norm.h"

#include <gmock/gmock.h>

#include <limits>

#include "rapt/kernels/add_norm.h"
#include "rapt/kernels/add_norm_ref.h"
#include "rapt/kernels/dropout_ref.h"
#include "rapt/kernels/past_caches.h"
#include "rapt/testing/everywhere.h"

namespace rapt {
namespace {

using ::testing::ThrowsMessage;
using namespace testing;

constexpr uint32_t kSite = 99;

struct Case {
  size_t rows, d;
  double p;
  double alpha = 1;

  Lengths lengths() const { return Lengths({{3, 1, 0}, {4, static_cast<uint32_t>(rows - 1), 7}}); }
  Dropout dropout() const { return {p, kSite}; }
  Array<double> keep() const {
    const Lengths names = lengths();
    Array<double> m(Shape{rows, d});
    m.data = kernels::dropout_factors_ref(
        {op_key(0, Stream::kDropout, kSite, 0), DropRate::of(p), &names}, rows, d);
    return m;
  }

  auto add_norm() const {
    return [*this](Context& ctx, const Var& x, const Var& sub, const Var& gamma, const Var& beta) {
      return ops::add_norm(ctx, x, sub, gamma, beta, 1e-5f, dropout(), lengths(),
                           static_cast<float>(alpha));
    };
  }
  auto add_norm_ref() const {
    return [keep = keep(), alpha = alpha]<class T>(const Array<T>& x, const Array<T>& sub,
                                                   const Array<T>& gamma, const Array<T>& beta) {
      return by_row([alpha](Row<T> a, Row<T> b, Row<double> m, Row<T> g, Row<T> c) {
        return kernels::add_norm_ref(1e-5, alpha)(a, b, m, g, c);
      })(x, sub, keep, gamma, beta);
    };
  }
  // s + y: both outputs of add_then_norm with a gradient.
  auto both() const {
    return [*this](Context& ctx, const Var& x, const Var& sub, const Var& gamma, const Var& beta) {
      const auto [s, y] = ops::add_then_norm(ctx, x, sub, gamma, beta, 1e-5f, dropout(), lengths());
      return ops::add_dropout(ctx, s, y, {}, lengths());
    };
  }
  auto both_ref() const {
    return [keep = keep()]<class T>(const Array<T>& x, const Array<T>& sub, const Array<T>& gamma,
                                    const Array<T>& beta) {
      return by_row([](Row<T> a, Row<T> b, Row<double> m, Row<T> g, Row<T> c) {
        const std::vector<T> s = kernels::add_dropout_ref(a, b, m);
        const std::vector<T> y = kernels::layer_norm_ref(1e-5)(Row<T>(s), g, c);
        return each(Row<T>(s), Row<T>(y), [](T u, T v) { return u + v; });
      })(x, sub, keep, gamma, beta);
    };
  }
};

template <class Op, class Reference>
void expect_training(const Op& op, const Reference& reference, const Case& c) {
  const std::array inputs{random_tensor({c.rows, c.d}, 0), random_tensor({c.rows, c.d}, 1),
                          random_tensor({c.d}, 2), random_tensor({c.d}, 3)};
  Context ctx(Mode::kTraining, test_pool());
  const Var y = op(ctx, Var(inputs[0]), Var(inputs[1]), Var(inputs[2]), Var(inputs[3]));
  expect_near(
      y.value(),
      reference(to_array(inputs[0]), to_array(inputs[1]), to_array(inputs[2]), to_array(inputs[3])),
      1e-5);
  expect_gradient_at(op, reference, inputs, 1e-4, Mode::kTraining);
}

TEST(AddNorm, MatchesTheFormulaAndItsDerivative) {
  for_each_simd_target([] {
    for (const double p : {0.0, 0.3}) {
      for (const size_t d : {1, 8, 17, 100, 512}) {
        const Case c{3, d, p};
        expect_training(c.add_norm(), c.add_norm_ref(), c);
        expect_training(c.both(), c.both_ref(), c);
      }
      const Case scaled{5, 19, p, 2.5};  // DeepNorm
      expect_training(scaled.add_norm(), scaled.add_norm_ref(), scaled);
      const Case blocks{2 * kRowBlock + 5, 9, p};
      expect_training(blocks.add_norm(), blocks.add_norm_ref(), blocks);
      expect_training(blocks.both(), blocks.both_ref(), blocks);
    }
  });
}

TEST(AddNorm, EitherOutputMayGoUnused) {
  const Case c{5, 19, 0.3};
  const auto output = [&c](size_t i) {
    return [&c, i](Context& ctx, const Var& x, const Var& sub, const Var& gamma, const Var& beta) {
      return ops::add_then_norm(ctx, x, sub, gamma, beta, 1e-5f, c.dropout(), c.lengths())[i];
    };
  };
  expect_training(output(1), c.add_norm_ref(), c);

  const auto sum = [&](Context& ctx, const Var& x, const Var& sub) {
    const Var g(random_tensor({c.d}, 2));
    return output(0)(ctx, x, sub, g, g);
  };
  const auto sum_ref = [keep = c.keep()]<class T>(const Array<T>& x, const Array<T>& sub) {
    return by_row([](Row<T> a, Row<T> b, Row<double> m) {
      return kernels::add_dropout_ref(a, b, m);
    })(x, sub, keep);
  };
  const auto add_dropout = [&](Context& ctx, const Var& x, const Var& sub) {
    return ops::add_dropout(ctx, x, sub, c.dropout(), c.lengths());
  };
  const std::array inputs{random_tensor({c.rows, c.d}, 0), random_tensor({c.rows, c.d}, 1)};
  expect_gradient_at(sum, sum_ref, inputs, 1e-4, Mode::kTraining);
  expect_gradient_at(add_dropout, sum_ref, inputs, 1e-4, Mode::kTraining);
}

TEST(AddNorm, InferenceGivesTheBitsOfEvaluation) {
  const Case c{70, 33, 0.3};
  const auto run = [&](Mode mode) {
    Context ctx(mode, test_pool());
    return c
        .add_norm()(ctx, Var(random_tensor({70, 33}, 0)), Var(random_tensor({70, 33}, 1)),
                    Var(random_tensor({33}, 2)), Var(random_tensor({33}, 3)))
        .value();
  };
  expect_same_bits(run(Mode::kInference), run(Mode::kEvaluation));
}

TEST(AddNorm, SameBitsForThreadsAndTargets) {
  const Case c{200, 77, 0.3};
  expect_same_bits_everywhere(c.add_norm(), {{200, 77}, {200, 77}, {77}, {77}});
  expect_same_bits_everywhere(c.both(), {{200, 77}, {200, 77}, {77}, {77}});
  const Case scaled{200, 77, 0.3, 2.3};
  expect_same_bits_everywhere(scaled.add_norm(), {{200, 77}, {200, 77}, {77}, {77}});
}

TEST(AddNorm, GradientsPastTheCachesHaveTheSameBits) {
  const size_t d = 519, rows = kernels::kPastCaches / d + 1;  // the rows end within a vector
  const Tensor s = random_tensor({rows, d}, 0), dy = random_tensor({rows, d}, 1);
  const Tensor gamma = random_tensor({d}, 2), mean = random_tensor({rows}, 3);
  const Lengths tokens = Lengths::single(rows);
  // dx, dsub, dgamma and dbeta, where a row of dx and dsub has so many floats.
  const auto gradient = [&](size_t stride, bool past) {
    const Tensor dx = Tensor::zeros({rows, stride}), dsub = Tensor::zeros({rows, stride});
    const Tensor dgamma = Tensor::zeros({d}), dbeta = Tensor::zeros({d});
    const Tensor partial = Tensor::zeros({row_block_count(rows), 2 * d});
    const auto view = [&](const Tensor& x) { return x.matrix().slice_cols(0, d); };
    EXPECT_EQ(kernels::goes_past_caches(view(dx)), past);
    kernels::add_norm_backward(
        1.0f, s.matrix(), gamma.span(), {mean.span(), mean.span()}, dy.matrix(), s.matrix(),
        {7, DropRate::of(0.3), &tokens},
        {view(dx), view(dsub), dgamma.span(), dbeta.span(), partial.matrix()}, test_pool());
    std::vector<float> all;
    append_columns(dx, d, all);
    append_columns(dsub, d, all);
    for (const Tensor& x : {dgamma, dbeta}) all.insert(all.end(), x.host().begin(), x.host().end());
    return all;
  };
  for_each_simd_target([&] { EXPECT_EQ(gradient(528, true), gradient(d, false)); });
}

TEST(AddNorm, KeepsNaN) {
  for_each_simd_target([] {
    const Case c{2, 19, 0.5};
    Context ctx(Mode::kTraining, test_pool());
    const Tensor sub = random_tensor({2, 19}, 1), g = random_tensor({19}, 2);
    for (float& v : sub.host().first(19)) v = std::numeric_limits<float>::quiet_NaN();
    const Tensor y =
        c.add_norm()(ctx, Var(random_tensor({2, 19}, 0)), Var(sub), Var(g), Var(g)).value();
    for (size_t i = 0; i < 38; ++i) EXPECT_EQ(std::isnan(y.host()[i]), i < 19) << i;
  });
}

TEST(AddNorm, KeepsNothingOfItsInputsInMemory) {
  const Case c{4, 8, 0.3};
  Context ctx(Mode::kTraining, test_pool());
  const Tensor x = random_tensor({4, 8}, 0), sub = random_tensor({4, 8}, 1);
  const Tensor g = random_tensor({8}, 2);
  Var s = c.both()(ctx, Var(x), Var(sub), Var(g), Var(g));
  EXPECT_TRUE(x.unique());
  EXPECT_TRUE(sub.unique());
}

TEST(AddNorm, RejectsWhatDoesNotFit) {
  const Case c{3, 8, 0.3};
  Context ctx(Mode::kTraining, test_pool());
  const auto call = [&](Shape x, Shape sub, Shape gamma, Shape beta) {
    return [&ctx, c, x, sub, gamma, beta] {
      c.add_norm()(ctx, Var(Tensor::zeros(x)), Var(Tensor::zeros(sub)), Var(Tensor::zeros(gamma)),
                   Var(Tensor::zeros(beta)));
    };
  };
  EXPECT_THAT(call({3, 8}, {3, 7}, {8}, {8}),
              ThrowsMessage<InvalidArgument>("add_norm: sub is [3, 7], expected [3, 8]"));
  EXPECT_THAT(call({3, 8}, {3, 8}, {7}, {8}),
              ThrowsMessage<InvalidArgument>("add_norm: gamma is [7], expected [8]"));
  EXPECT_THAT(call({3, 8}, {3, 8}, {8}, {9}),
              ThrowsMessage<InvalidArgument>("add_norm: beta is [9], expected [8]"));
  EXPECT_THAT(call({4, 8}, {4, 8}, {8}, {8}),
              ThrowsMessage<InvalidArgument>("add_norm: x has 4 rows, its lengths name 3"));
}

}  // namespace
}  // namespace rapt

#include "rapt/ops/linear.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rapt/kernels/activation_ref.h"
#include "rapt/kernels/gemm_ref.h"
#include "rapt/testing/expect.h"

namespace rapt {
namespace {

using kernels::Activation;
using testing::Array;
using testing::expect_gradient;
using testing::expect_near;
using testing::expect_same_bits;
using testing::expect_values;
using testing::for_each_simd_target;
using ::testing::HasSubstr;
using testing::random_tensor;
using testing::test_pool;
using ::testing::ThrowsMessage;

constexpr Activation kActivations[] = {Activation::kNone, Activation::kRelu,
                                       Activation::kGelu, Activation::kGeluTanh,
                                       Activation::kSilu, Activation::kSigmoid};

auto reference(Activation activation) {
  return [activation]<class T>(const Array<T>& x, const Array<T>& w, const auto&... bias) {
    const auto view = [](const Array<T>& a) {
      return MatrixView<const T>(a.data.data(), a.rows(), a.cols());
    };
    kernels::GemmRef<T> product{.op = kernels::Op::kNT, .a = view(x), .b = view(w)};
    ((product.bias = bias.data.data()), ...);
    Array<T> y({x.rows(), w.rows()});
    for (size_t r = 0; r < x.rows(); ++r) {
      for (size_t j = 0; j < w.rows(); ++j) {
        y(r, j) = kernels::activation_ref(activation, product(r, j));
      }
    }
    return y;
  };
}
auto op(Activation activation) {
  return [activation](Context& ctx, const Var& x, const Var& w, const auto&... bias) {
    const Var* b = nullptr;
    ((b = &bias), ...);
    return ops::linear(ctx, x, w, b, activation);
  };
}

TEST(Linear, MatchesTheFormulaAndItsDerivative) {
  for_each_simd_target([] {
    for (const Activation a : kActivations) {
      for (const size_t in : {1, 8, 17, 64}) {
        for (const size_t out : {3, 16, 33}) {
          expect_values(op(a), reference(a), {{5, in}, {out, in}, {out}}, 1e-5);
          expect_gradient(op(a), reference(a), {{5, in}, {out, in}, {out}}, 1e-4);
          expect_gradient(op(a), reference(a), {{5, in}, {out, in}}, 1e-4);
        }
      }
    }
  });
}

TEST(Linear, GradientsOverSeveralRowBlocks) {
  for (const Activation a : kActivations) {
    expect_gradient(op(a), reference(a), {{2 * kRowBlock + 7, 12}, {19, 12}, {19}}, 1e-4);
  }
}

struct Layer {
  Layer(size_t out, size_t in) {
    w.name = "linear1.weight";
    w.value = random_tensor({out, in}, 1);
    b.name = "linear1.bias";
    b.value = random_tensor({out}, 2);
  }
  Weight w;
  Parameter b;
};

TEST(Linear, SameBitsForEveryNumberOfThreads) {
  const Layer layer(150, 70);
  const Tensor x = random_tensor({200, 70}, 3), dy = random_tensor({200, 150}, 4);
  for_each_simd_target([&] {
    std::vector<std::vector<Tensor>> results;
    for (const size_t threads : {1, 2, 3}) {
      Pool pool(threads);
      Context ctx(Mode::kTraining, pool);
      const Var y = ops::linear(ctx, ctx.leaf(x), layer.w, &layer.b, Activation::kGelu);
      ctx.backward(y, dy);
      results.push_back({y.value().clone(), ctx.gradient(x).clone(),
                         ctx.gradient(layer.w.value).clone(), ctx.gradient(layer.b.value).clone()});
      for (size_t i = 0; i < 4; ++i) expect_same_bits(results.back()[i], results[0][i]);
    }
  });
}

TEST(Linear, PackedWeightsGiveTheSameBits) {
  for_each_simd_target([] {
    Layer layer(45, 70);
    const Tensor x = random_tensor({9, 70}, 3), value = layer.w.value;
    Context ctx(Mode::kInference, test_pool());
    for (const Activation a : kActivations) {
      Layer packed(45, 70);
      packed.w.pack(Precision::kF32, test_pool());
      EXPECT_TRUE(packed.w.value.empty());
      EXPECT_EQ(packed.w.out(), 45u);
      EXPECT_EQ(packed.w.in(), 70u);
      for (const Parameter* bias :
           {static_cast<const Parameter*>(nullptr), static_cast<const Parameter*>(&layer.b)}) {
        expect_same_bits(ops::linear(ctx, x, packed.w, bias, a).value(),
                         ops::linear(ctx, x, layer.w, bias, a).value());
      }
    }
  });
}

TEST(Linear, InferenceKeepsNothing) {
  MemoryPool memory;
  const Layer layer(64, 64);
  Context ctx(Mode::kInference, test_pool(), 0, 0, memory);
  const Var y = ops::linear(ctx, random_tensor({64, 64}, 3), layer.w, &layer.b, Activation::kGelu);
  EXPECT_LE(memory.stats().bytes_in_use, 64 * 64 * sizeof(float) * 9 / 8 + 4096);
}

TEST(Linear, AccumulatesTheGradientsOfASharedWeight) {
  const Layer layer(6, 6);
  const Tensor x = random_tensor({5, 6}, 3), dy = random_tensor({5, 6}, 4);
  const auto gradient = [&](int times) {
    Context ctx(Mode::kTraining, test_pool());
    Var y = ops::linear(ctx, x, layer.w, &layer.b);
    for (int i = 1; i < times; ++i) y = ops::linear(ctx, y, layer.w, &layer.b);
    ctx.backward(y, dy);
    return ctx.gradient(layer.w.value).clone();
  };
  const auto reference_twice = [&]<class T>(const Array<T>& w) {
    const auto lift = [](const Tensor& t) {
      Array<T> a(t.shape());
      for (size_t i = 0; i < t.size(); ++i) a.data[i] = T(t.host()[i]);
      return a;
    };
    const auto layer_of = reference(Activation::kNone);
    return layer_of(layer_of(lift(x), w, lift(layer.b.value)), w, lift(layer.b.value));
  };
  const auto op_twice = [&](Context& ctx, const Var& w) {
    const Var b(layer.b.value);
    return ops::linear(ctx, ops::linear(ctx, x, w, &b), w, &b);
  };
  expect_gradient(op_twice, reference_twice, {{6, 6}}, 1e-4);
  EXPECT_NE(gradient(2).host()[0], gradient(1).host()[0]);
}

TEST(Linear, PartsOfAProjectionHaveTheBitsOfTheWhole) {
  Layer layer(100, 24);
  const Tensor x = random_tensor({7, 24}, 3), dy = random_tensor({7, 100}, 4);
  const ops::Rows parts[] = {{0, 32}, {32, 95}, {96, 97}};
  Context ctx(Mode::kTraining, test_pool());
  const Tensor whole = ops::linear(ctx, x, layer.w, &layer.b).value();
  const auto columns = [](const Tensor& t, ops::Rows part) {
    Tensor y = Tensor::zeros({t.rows(), part.last - part.first});
    for (size_t r = 0; r < t.rows(); ++r) {
      const MatrixView<float> view = t.matrix().slice_cols(part.first, part.last);
      std::ranges::copy(view.row(r), y.matrix().row(r).begin());
    }
    return y;
  };
  // One gradient for all parts; rows of no part have none.
  ctx.clear();
  Tensor dw = Tensor::zeros({100, 24}), db = Tensor::zeros({100});
  ctx.bind(layer.w.value, dw);
  ctx.bind(layer.b.value, db);
  for (const ops::Rows part : parts) {
    const Var y = ops::linear_part(ctx, x, layer.w, &layer.b, part);
    testing::expect_same_bits(y.value(), columns(whole, part));
    ctx.backward(y, columns(dy, part));
  }
  Context other(Mode::kTraining, test_pool());
  other.backward(ops::linear(other, x, layer.w, &layer.b), dy);
  for (const ops::Rows part : parts) {
    testing::expect_same_bits(dw.slice_rows(part.first, part.last),
                              other.gradient(layer.w.value).slice_rows(part.first, part.last));
    for (size_t i = part.first; i < part.last; ++i) {
      EXPECT_EQ(db.host()[i], other.gradient(layer.b.value).host()[i]);
    }
  }
  for (const float v : dw.slice_rows(95, 96).span()) EXPECT_EQ(v, 0.0f);
  EXPECT_EQ(db.host()[99], 0.0f);

  layer.w.pack(Precision::kF32);
  Context inference(Mode::kInference, test_pool());
  for (const ops::Rows part : parts) {
    testing::expect_same_bits(ops::linear_part(inference, x, layer.w, &layer.b, part).value(),
                              columns(whole, part));
  }
  EXPECT_THAT(
      [&] {
        ops::linear_part(inference, x, layer.w, &layer.b, {33, 64});
      },
      ThrowsMessage<InvalidArgument>(HasSubstr("none starts at row 33")));
  EXPECT_THAT(
      [&] {
        ops::linear_part(inference, x, layer.w, &layer.b, {64, 101});
      },
      ThrowsMessage<InvalidArgument>(HasSubstr("rows 64 to 101")));
}

TEST(Linear, RejectsWhatDoesNotFit) {
  Context ctx(Mode::kTraining, test_pool());
  Layer layer(4, 6);
  EXPECT_THAT(
      [&] {
        ops::linear(ctx, Tensor::zeros({2, 5}), layer.w, &layer.b);
      },
      ThrowsMessage<InvalidArgument>("linear: x is [2, 5], expected [rows, 6]"));
  layer.b.value = Tensor::zeros({5});
  EXPECT_THAT(
      [&] {
        ops::linear(ctx, Tensor::zeros({2, 6}), layer.w, &layer.b);
      },
      ThrowsMessage<InvalidArgument>("linear: bias is [5], expected [4]"));
  layer.w.pack(Precision::kF32);
  EXPECT_THAT(
      [&] {
        ops::linear(ctx, Tensor::zeros({2, 6}), layer.w, nullptr);
      },
      ThrowsMessage<InvalidArgument>(HasSubstr("linear1.weight is packed for inference")));
}

TEST(Weight, GivesItsRowsPackedOrNot) {
  Layer layer(70, 33);
  const Tensor value = layer.w.value.clone();
  std::vector<float> row(33);
  for (const bool pack : {false, true}) {
    if (pack) layer.w.pack(Precision::kF32);
    EXPECT_EQ(layer.w.packed(), pack);
    for (size_t i = 0; i < 70; ++i) {
      layer.w.row(i, row);
      EXPECT_TRUE(std::ranges::equal(row, value.matrix().row(i)));
    }
    EXPECT_THAT([&] { layer.w.row(70, row); },
                ThrowsMessage<InvalidArgument>("linear1.weight: row 70 of 70"));
  }
  layer.w.pack(Precision::kF32);  // nothing left to do
}

}  // namespace
}  // namespace rapt

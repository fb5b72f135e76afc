#include "rapt/ops/embedding.h"

#include <gmock/gmock.h>

#include "rapt/kernels/dropout_ref.h"
#include "rapt/kernels/embedding_ref.h"
#include "rapt/testing/everywhere.h"

namespace rapt {
namespace {

using ::testing::ThrowsMessage;
using namespace testing;

constexpr size_t kVocabulary = 23, kPositions = 60;
constexpr float kScale = 3.7f;

// Three sentences, one of them with a past.
Lengths sentences() { return Lengths({{7, 50, 0}, {8, 1, 0}, {9, 29, 31}}); }
constexpr size_t kRows = 80;

std::vector<int32_t> ids() {
  std::vector<int32_t> ids(kRows);
  for (size_t r = 0; r < kRows; ++r) ids[r] = static_cast<int32_t>(r * r % kVocabulary);
  return ids;
}

auto embed(double p) {
  return [p](Context& ctx, const Var& table, const Var& positions) {
    return ops::embedding(ctx, table, ids(), kScale, &positions, {p, 5}, sentences());
  };
}
auto embed_ref(double p, size_t d) {
  const Lengths names = sentences();
  Array<double> keep(Shape{kRows, d});
  keep.data = kernels::dropout_factors_ref(
      {op_key(0, Stream::kDropout, 5, 0), DropRate::of(p), &names}, kRows, d);
  return [=]<class T>(const Array<T>& table, const Array<T>& positions) {
    Array<T> e(Shape{kRows, d}), at(Shape{kRows, d});
    for (size_t r = 0; r < kRows; ++r) {
      for (size_t c = 0; c < d; ++c) {
        e(r, c) = table(static_cast<size_t>(ids()[r]), c);
        at(r, c) = positions(names.key(r).position, c);
      }
    }
    return by_row(kernels::embedding_ref(kScale))(e, at, keep);
  };
}

TEST(Embedding, MatchesTheFormulaAndItsDerivative) {
  for_each_simd_target([] {
    for (const double p : {0.0, 0.3}) {
      for (const size_t d : {1, 8, 17, 100}) {
        const std::array inputs{random_tensor({kVocabulary, d}, 1),
                                random_tensor({kPositions, d}, 2)};
        Context ctx(Mode::kTraining, test_pool());
        expect_near(embed(p)(ctx, Var(inputs[0]), Var(inputs[1])).value(),
                    embed_ref(p, d)(to_array(inputs[0]), to_array(inputs[1])), 1e-6);
        expect_gradient_at(embed(p), embed_ref(p, d), inputs, 1e-5, Mode::kTraining);
      }
    }
  });
}

TEST(Embedding, WithoutPositions) {
  const auto op = [](Context& ctx, const Var& table) {
    return ops::embedding(ctx, table, ids(), kScale, nullptr, {}, sentences());
  };
  const auto reference = []<class T>(const Array<T>& table) {
    return embed_ref(0, table.cols())(table, Array<T>(Shape{kPositions, table.cols()}));
  };
  expect_values(op, reference, {{kVocabulary, 19}}, 1e-6);
  expect_gradient(op, reference, {{kVocabulary, 19}}, 1e-5);
}

TEST(Embedding, AWeightPackedOrNotGivesTheSameBits) {
  Weight weight;
  weight.name = "source_embedding.weight";
  weight.value = random_tensor({kVocabulary, 19}, 1);
  const Var positions(random_tensor({kPositions, 19}, 2));
  Context ctx(Mode::kInference, test_pool());
  const auto run = [&] {
    return ops::embedding(ctx, weight, ids(), kScale, &positions, {0.3, 5}, sentences()).value();
  };
  const Tensor before = run();
  weight.pack(Precision::kF32);
  expect_same_bits(run(), before);
  Context training(Mode::kTraining, test_pool());
  EXPECT_THROW(ops::embedding(training, weight, ids(), 1, nullptr, {}, sentences()),
               InvalidArgument);
}

TEST(Embedding, GradientReachesTheWeight) {
  Weight weight;
  weight.value = random_tensor({kVocabulary, 4}, 1);
  Context ctx(Mode::kEvaluation, test_pool());
  ctx.backward(ops::embedding(ctx, weight, ids(), 2.0f, nullptr, {}, sentences()));
  const Tensor gradient = ctx.gradient(weight.value);
  const std::vector<int32_t> all = ids();
  for (size_t v = 0; v < kVocabulary; ++v) {
    const auto count = std::count(all.begin(), all.end(), static_cast<int32_t>(v));
    EXPECT_EQ(gradient.host()[v * 4], 2.0f * static_cast<float>(count));
  }
}

TEST(Embedding, SameBitsForThreadsAndTargets) {
  expect_same_bits_everywhere(embed(0.3), {{kVocabulary, 77}, {kPositions, 77}});
}

TEST(Embedding, NamesWhatTheTablesDoNotHave) {
  Context ctx(Mode::kTraining, test_pool());
  const Var table(Tensor::zeros({5, 4})), positions(Tensor::zeros({3, 4}));
  const auto call = [&](std::vector<int32_t> tokens, Sequence sequence, const Var* at) {
    return [&, tokens, sequence, at] {
      ops::embedding(ctx, table, tokens, 1.0f, at, {}, Lengths({sequence}));
    };
  };
  EXPECT_THAT(
      call({4, 5}, {0, 2, 0}, nullptr),
      ThrowsMessage<InvalidArgument>("embedding: id 5 in row 1 is not in the vocabulary of 5"));
  EXPECT_THAT(
      call({4, -1}, {0, 2, 0}, nullptr),
      ThrowsMessage<InvalidArgument>("embedding: id -1 in row 1 is not in the vocabulary of 5"));
  EXPECT_THAT(call({4, 1}, {0, 2, 2}, &positions),
              ThrowsMessage<InvalidArgument>(
                  "embedding: position 3 of row 1 is beyond the table of 3 positions"));
  EXPECT_THAT(call({4}, {0, 2, 0}, nullptr),
              ThrowsMessage<InvalidArgument>("embedding: 1 ids for 2 rows"));
  const Var narrow(Tensor::zeros({3, 2}));
  EXPECT_THAT(call({4}, {0, 1, 0}, &narrow),
              ThrowsMessage<InvalidArgument>("embedding: positions are [3, 2], expected [n, 4]"));
}

}  // namespace
}  // namespace rapt

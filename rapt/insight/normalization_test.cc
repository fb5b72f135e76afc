#include "rapt/insight/normalization.h"

#include <gtest/gtest.h>

#include <cmath>

#include "rapt/insight/experiment_test.h"
#include "rapt/insight/normalized_rows.h"
#include "rapt/insight/normalized_stack.h"

namespace rapt::insight {
namespace {

NormalizationOptions small() {
  NormalizationOptions o;
  o.features = 64;
  o.tokens = 4;
  o.layers = 8;
  o.trained_layers = 1;
  o.repeats = 1;
  o.set_sentences = 64;
  o.training.length = 4;
  o.training.d_model = 16;
  o.training.heads = 2;
  o.training.d_ff = 16;
  o.training.steps = 20;
  o.training.batch = 4;
  return o;
}

TEST(NormalizedRows, AreThoseOfTheFormulas) {
  Pool pool(1);
  const RowStatistics rows = row_statistics(5, 256, 1e-5, 3, pool);
  EXPECT_LT(rows.before.token_variances.low, 0.7 * rows.before.token_variances.high);
  EXPECT_NEAR(rows.per_token.token_variances.low, 1, 1e-3);
  EXPECT_NEAR(rows.per_token.token_variances.high, 1, 1e-3);
  EXPECT_NEAR(rows.per_token.token_means.high, 0, 1e-5);
  EXPECT_EQ(rows.per_token.coupling, 0);
  // All numbers together: the sentence has the statistics, its tokens have not.
  EXPECT_NEAR(rows.per_sentence.mean, 0, 1e-5);
  EXPECT_NEAR(rows.per_sentence.variance, 1, 1e-3);
  EXPECT_LT(rows.per_sentence.token_variances.low, 0.9);
  EXPECT_GT(rows.per_sentence.coupling, 0.01);
}

TEST(NormalizedRows, EpsilonTakesItsShareOfTheVariance) {
  Pool pool(1);
  const EpsilonStatistics e = epsilon_statistics(256, 1e-4, 1, pool);
  EXPECT_LT(e.worst, 1e-3);
  EXPECT_EQ(e.constant, 0);
  EXPECT_EQ(e.constant_nan, 0);
  EXPECT_EQ(e.unguarded_nan, 100);
}

TEST(NormalizedStack, LayersReadRowsOfMeanSquareOne) {
  const TrainingOptions o = small().training;
  Pool pool(1);
  const auto model = make_model({.layers = 2}, o, 1);
  const TaskBatch batch = task_batch(o, 1, 0, 4);
  const StackProfile p = profile(*model, batch, pool);
  ASSERT_EQ(p.spread.size(), 3u);
  ASSERT_EQ(p.gradient.size(), 2u);
  // Each row that LayerNorm gives has the mean square 1, in front of a final norm too.
  EXPECT_NEAR(p.spread[1], 1, 1e-3);
  EXPECT_NEAR(p.spread[2], 1, 1e-3);
  EXPECT_GT(p.gradient[0], 0);
}

TEST(NormalizedStack, DriftIsMeasuredInDeviations) {
  const Tensor a = Tensor::of({2, 2}, std::vector<float>{-1, -2, 1, 2});
  const Tensor moved = Tensor::of({2, 2}, std::vector<float>{2, -2, 4, 2});
  const Tensor wider = Tensor::of({2, 2}, std::vector<float>{-1, -4, 1, 4});
  EXPECT_DOUBLE_EQ(drift({a}, {a})[0], 0);
  EXPECT_DOUBLE_EQ(drift({a}, {moved})[0], 3 / std::sqrt(5.0));
  EXPECT_DOUBLE_EQ(drift({a}, {wider})[0], 2 / std::sqrt(5.0));
}

TEST(NormalizedStack, NeighboursMoveASentenceThroughBatchNormInTrainingAlone) {
  const TrainingOptions o = small().training;
  Pool pool(1);
  const auto moved = [&](NormKind norm, const NeighbourOptions& neighbours) {
    return moved_by_neighbours(*make_model({.norm = norm, .layers = 1}, o, 1), o, neighbours, 1,
                               pool);
  };
  for (const bool ragged : {false, true}) {
    for (const double d : moved(NormKind::kLayer, {.ragged = ragged})) EXPECT_EQ(d, 0);
    for (const double d : moved(NormKind::kBatch, {Mode::kInference, ragged})) EXPECT_EQ(d, 0);
    const std::vector<double> batch = moved(NormKind::kBatch, {.ragged = ragged});
    EXPECT_EQ(batch[0], 0);  // alone
    for (size_t i = 1; i < batch.size(); ++i) EXPECT_GT(batch[i], 1e-3);
    EXPECT_GT(batch[1], batch.back());  // the more there are, the less their choice counts
  }
}

TEST(Normalization, MeasuresItsParts) {
  const Measured m(normalization, small());
  EXPECT_LT(m["token_mean"], 1e-5);
  EXPECT_EQ(m["token_coupling"], 0);
  EXPECT_EQ(m["moved_layer"], 0);
  EXPECT_EQ(m["moved_batch_evaluation"], 0);
  EXPECT_GT(m["moved_batch_2"], m["moved_batch_64"]);
  EXPECT_GT(m["spread_none_high"], 4 * m["spread_layer_high"]);
  // 20 updates teach little, with norms that learn or do not.
  for (const char* loss : {"loss_none", "loss_layer", "loss_fixed", "loss_batch"}) {
    EXPECT_LT(m[loss], 1.2 * std::log(8)) << loss;
  }
  EXPECT_NE(m["loss_layer"], m["loss_fixed"]);
}

TEST(Normalization, RefusesASetThatBatchesDoNotDivide) {
  NormalizationOptions o = small();
  o.set_sentences = 100;
  Pool pool(1);
  EXPECT_THROW(normalization(o, {pool}), InvalidArgument);
}

}  // namespace
}  // namespace rapt::insight

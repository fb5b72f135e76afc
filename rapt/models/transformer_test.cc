// Whole models against their scalar reference: values, and gradients by dual numbers.
#include "rapt/models/transformer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "rapt/models/model_variants_test.h"
#include "rapt/models/transformer_ref.h"

namespace rapt {
namespace {

using testing::Array;
using testing::Dual;
using ::testing::HasSubstr;
using testing::kVariants;
using ::testing::ThrowsMessage;
using testing::tiny_config;
using testing::tiny_decoder_config;
using testing::tiny_model;
using testing::tiny_shard;
using testing::Variant;

constexpr uint64_t kSeed = 7, kUpdate = 3;
constexpr float kBalance = 0.25f;  // of the experts, where there are any

template <class T, class F>
TransformerRef<Array<T>> reference(const Transformer& model, bool training, const F& convert) {
  std::map<std::string, Array<T>> parameters;
  for (const Parameter* p : model.parameters().stored()) parameters[p->name] = convert(*p);
  for (const auto& [second, first] : model.parameters().ties()) {
    parameters[second] = parameters.at(first);
  }
  return {model.config(), std::move(parameters), {training, kSeed, kUpdate}};
}

// The same direction for a parameter whatever the model.
Tensor direction(const Parameter& p, uint32_t n) {
  return testing::random_tensor(p.value.shape(), site_of(p.name) + n);
}

class EveryVariant : public ::testing::TestWithParam<Variant> {
 protected:
  EveryVariant() : config_(tiny_config()) { GetParam().change(config_); }
  ModelConfig config_;
};

double loss_of(const ModelConfig& config) {
  const Transformer model = tiny_model(config);
  return reference<double>(model, true,
                           [](const Parameter& p) { return testing::to_array(p.value); })
      .loss(tiny_shard(config), 0.1, kBalance);
}

TEST_P(EveryVariant, ComputesItsFormula) {
  const Transformer model = tiny_model(config_);
  const Shard shard = tiny_shard(config_);
  const auto formula =
      reference<double>(model, true, [](const Parameter& p) { return testing::to_array(p.value); });
  Context ctx(Mode::kTraining, testing::test_pool(), kSeed, kUpdate);
  testing::expect_near(model.decoder_output(ctx, shard).value(), formula.decoder_output(shard),
                       1e-5);
  ctx.clear();
  const auto loss = model.loss(ctx, shard, {.smoothing = 0.1f}, kBalance);
  EXPECT_NEAR(loss.objective.value().host()[0], formula.loss(shard, 0.1f, kBalance), 3e-4);
  EXPECT_NEAR(loss.nll.host()[0], formula.loss(shard, 0), 3e-4);
  // Each choice changes the result, so that none can be ignored in both places.
  if (std::string_view(GetParam().name) != "paper") {
    EXPECT_GT(std::abs(loss_of(config_) - loss_of(tiny_config())), 1e-3);
  }
}

TEST_P(EveryVariant, HasTheGradientOfItsFormula) {
  const Transformer model = tiny_model(config_);
  const Shard shard = tiny_shard(config_);
  Context ctx(Mode::kTraining, testing::test_pool(), kSeed, kUpdate);
  ctx.backward(model.loss(ctx, shard, {.smoothing = 0.1f}, kBalance).objective, 0.5f);
  for (uint32_t n = 0; n < 3; ++n) {
    const auto formula = reference<Dual>(model, true, [&](const Parameter& p) {
      const Tensor v = direction(p, n);
      return testing::to_dual(p.value, &v);
    });
    const double expected = 0.5 * formula.loss(shard, 0.1f, kBalance).d;
    double actual = 0, squares = 0;
    for (size_t i = 0; i < model.parameters().size(); ++i) {
      const Parameter& p = model.parameters()[i];
      const Tensor gradient = ctx.gradient(p.value), v = direction(p, n);
      ASSERT_FALSE(gradient.empty()) << p.name << " has no gradient";
      ASSERT_EQ(gradient.shape(), p.value.shape()) << p.name;
      for (size_t k = 0; k < v.size(); ++k) {
        const double term = static_cast<double>(gradient.host()[k]) * v.host()[k];
        actual += term;
        squares += term * term;
      }
    }
    EXPECT_NEAR(actual, expected, 2e-5 * (1 + std::sqrt(squares) + std::abs(expected)));
  }
}

// Each parameter by itself: a mistake in a small gradient is not hidden by large ones.
TEST(Transformer, EachParameterHasTheGradientOfItsFormula) {
  const std::pair<Residual, NormKind> kinds[] = {{Residual::kPost, NormKind::kLayer},
                                                 {Residual::kPre, NormKind::kLayer},
                                                 {Residual::kDeepNorm, NormKind::kLayer},
                                                 {Residual::kPost, NormKind::kBatch}};
  for (const auto& [residual, norm] : kinds) {
    ModelConfig config = tiny_config();
    config.residual = residual;
    config.norm = norm;
    const Transformer model = tiny_model(config);
    const Shard shard = tiny_shard(config);
    Context ctx(Mode::kTraining, testing::test_pool());
    ctx.backward(model.loss(ctx, shard, {}).objective);
    for (size_t i = 0; i < model.parameters().size(); ++i) {
      const Parameter& tested = model.parameters()[i];
      const auto formula = reference<Dual>(model, true, [&](const Parameter& p) {
        const Tensor v = direction(p, 0);
        return testing::to_dual(p.value, &p == &tested ? &v : nullptr);
      });
      const double expected = formula.loss(shard, 0).d;
      double actual = 0, squares = 0;
      const Tensor gradient = ctx.gradient(tested.value), v = direction(tested, 0);
      for (size_t k = 0; k < v.size(); ++k) {
        const double term = static_cast<double>(gradient.host()[k]) * v.host()[k];
        actual += term;
        squares += term * term;
      }
      EXPECT_NEAR(actual, expected, 2e-5 * (1 + std::sqrt(squares))) << tested.name;
    }
  }
}

TEST(Transformer, EvaluationTakesTheRunningMomentsOfBatchNorm) {
  ModelConfig config = tiny_config();
  config.norm = NormKind::kBatch;
  const Transformer model = tiny_model(config);
  const Shard shard = tiny_shard(config);
  const auto formula = reference<double>(
      model, false, [](const Parameter& p) { return testing::to_array(p.value); });
  for (const Mode mode : {Mode::kEvaluation, Mode::kInference}) {
    Context ctx(mode, testing::test_pool());
    testing::expect_near(model.decoder_output(ctx, shard).value(), formula.decoder_output(shard),
                         1e-5);
  }
}

TEST(Transformer, SmoothingFormulasAreThoseOfTheirNames) {
  const ModelConfig config = tiny_config();
  const Transformer model = tiny_model(config);
  const Shard shard = tiny_shard(config);
  Context ctx(Mode::kEvaluation, testing::test_pool());
  const auto loss = [&](float eps, ops::Smoothing formula) {
    return model.loss(ctx, shard, {eps, formula}).objective.value().host()[0];
  };
  // fairseq spreads eps over the other classes: the same as PyTorch's with eps V / (V - 1).
  const float v = testing::kTargetVocabulary;
  EXPECT_NEAR(loss(0.12f, ops::Smoothing::kFairseq),
              loss(0.12f * v / (v - 1), ops::Smoothing::kPytorch), 1e-4);
  EXPECT_GT(std::abs(loss(0.12f, ops::Smoothing::kFairseq) - loss(0.12f, ops::Smoothing::kPytorch)),
            1e-3);
}

// Before training a sink is a key with score 0 and value 0.
TEST(Transformer, SinksTakeWeightOffTheKeys) {
  ModelConfig config = tiny_config();
  config.attention_sink = true;
  Transformer model(config, testing::kSourceVocabulary, testing::kTargetVocabulary);
  const char* name = "decoder.layers.0.multihead_attn";
  Parameter* sink = model.parameters().find(std::string(name) + ".sink");
  EXPECT_FALSE(sink->decay);
  EXPECT_THAT(sink->value.host(), ::testing::Each(0.0f));
  const auto largest_row_sum = [&] {
    Context ctx(Mode::kInference, testing::test_pool());
    double largest = 0;
    ctx.observe([&](std::string_view seen, const Tensor& weights) {
      if (seen != concat(name, ".weights")) return;
      for (size_t i = 0; i + 5 <= 4 * 5; i += 5) {  // of the first sentence, 4 queries and 5 keys
        const auto row = weights.span().subspan(i, 5);
        largest = std::max(largest, std::accumulate(row.begin(), row.end(), 0.0));
      }
    });
    model.decoder_output(ctx, tiny_shard(config));
    return largest;
  };
  const double before = largest_row_sum();
  EXPECT_LT(before, 1);
  EXPECT_GT(before, 0);
  std::ranges::fill(sink->value.host(), 100.0f);
  EXPECT_LT(largest_row_sum(), 1e-30);
}

// Attention over nothing gives zeros; nothing becomes NaN on the way.
TEST(Transformer, EmptySourcesAreHarmless) {
  const ModelConfig config = tiny_config();
  const Transformer model = tiny_model(config);
  for (const uint32_t other : {0u, 4u}) {
    const Shard shard = tiny_shard(config, {{17, 0, 0}, {3, other, 0}}, {{17, 3, 0}, {3, 2, 0}});
    Context ctx(Mode::kEvaluation, testing::test_pool());
    const auto loss = model.loss(ctx, shard, {});
    EXPECT_TRUE(std::isfinite(loss.nll.host()[0]));
    ctx.backward(loss.objective);
    for (size_t i = 0; i < model.parameters().size(); ++i) {
      const Tensor gradient = testing::gradient_of(ctx, model.parameters()[i]);
      EXPECT_TRUE(std::ranges::all_of(gradient.span(), [](float v) { return std::isfinite(v); }))
          << model.parameters()[i].name;
    }
  }
}

TEST(Transformer, ObservedContextsSeeEveryAttention) {
  const ModelConfig config = tiny_config();
  const Transformer model = tiny_model(config);
  const Shard shard = tiny_shard(config);
  std::map<std::string, Tensor> seen;
  Context ctx(Mode::kEvaluation, testing::test_pool());
  ctx.observe([&](std::string_view name, const Tensor& value) {
    if (name.ends_with(".weights")) seen[std::string(name)] = value.clone();
  });
  model.decoder_output(ctx, shard);
  // Of each head the matrices of the sentences in turn: each row of weights sums to one.
  const auto expect = [&](const std::string& name, const Lengths& queries, const Lengths& keys) {
    ASSERT_TRUE(seen.contains(name + ".weights")) << name;
    const Tensor& weights = seen[name + ".weights"];
    size_t i = 0;
    for (size_t h = 0; h < config.heads; ++h) {
      for (size_t s = 0; s < queries.sequences(); ++s) {
        for (size_t row = 0; row < queries[s].size; ++row) {
          double sum = 0;
          for (size_t j = 0; j < keys[s].size; ++j) sum += weights.host()[i++];
          EXPECT_NEAR(sum, 1, 1e-6) << name;
        }
      }
    }
    EXPECT_EQ(i, weights.size());
  };
  for (const std::string layer : {"0", "1"}) {
    expect("encoder.layers." + layer + ".self_attn", shard.source, shard.source);
    expect("decoder.layers." + layer + ".self_attn", shard.target, shard.target);
    expect("decoder.layers." + layer + ".multihead_attn", shard.target, shard.source);
  }
  EXPECT_EQ(seen.size(), 6u);
}

TEST(Transformer, RefusesWhatDoesNotFit) {
  const auto make = [](const std::function<void(ModelConfig&)>& change, size_t sources,
                       size_t targets) {
    return [=] {
      ModelConfig config = tiny_config();
      change(config);
      Transformer(config, sources, targets);
    };
  };
  EXPECT_THAT(make([](ModelConfig& c) { c.heads = 5; }, 11, 13),
              ThrowsMessage<InvalidArgument>(HasSubstr("d_model is 12, which 5 heads")));
  EXPECT_THAT(make([](ModelConfig& c) { c.tie = Tie::kAll; }, 11, 13),
              ThrowsMessage<InvalidArgument>(HasSubstr("choose a joint vocabulary")));
  EXPECT_THAT(make([](ModelConfig&) {}, 0, 13),
              ThrowsMessage<InvalidArgument>(HasSubstr("source vocabulary of 0")));
  EXPECT_THAT(make([](ModelConfig&) {}, 11, 0),
              ThrowsMessage<InvalidArgument>(HasSubstr("target vocabulary is empty")));

  const Transformer model = tiny_model(tiny_config());
  const auto loss = [&](const std::function<void(Shard&)>& change) {
    return [&, change] {
      Shard shard = tiny_shard(tiny_config());
      change(shard);
      Context ctx(Mode::kEvaluation, testing::test_pool());
      model.loss(ctx, shard, {});
    };
  };
  EXPECT_THAT(loss([](Shard& s) { s.target_in[2] = 13; }),
              ThrowsMessage<InvalidArgument>(HasSubstr("id 13")));
  EXPECT_THAT(loss([](Shard& s) { s.source_ids[2] = -1; }),
              ThrowsMessage<InvalidArgument>(HasSubstr("id -1")));
  EXPECT_THAT(loss([](Shard& s) { s.source_ids.pop_back(); }),
              ThrowsMessage<InvalidArgument>(HasSubstr("12 ids for 13 rows")));
  EXPECT_THAT(loss([](Shard& s) { s.target_out.pop_back(); }),
              ::testing::Throws<InvalidArgument>());
  EXPECT_THAT(loss([](Shard& s) {
                s.source = Lengths::of(std::vector<uint32_t>{33});
                s.source_ids.assign(33, 1);
              }),
              ThrowsMessage<InvalidArgument>(HasSubstr("longer than max_positions 32")));
}

INSTANTIATE_TEST_SUITE_P(All, EveryVariant, ::testing::ValuesIn(kVariants),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace rapt

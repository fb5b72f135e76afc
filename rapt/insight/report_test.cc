#include "rapt/insight/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "rapt/decode/scorer.h"
#include "rapt/decode/tiny_model_for_tests.h"

namespace rapt::insight {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

std::vector<Example> pairs(const Model& model) {
  std::vector<Example> examples;
  for (const auto& [source, target] :
       {std::pair("abcd", "xyzx"), {"dcba", "zy"}, {"ab", "xxyyz"}}) {
    examples.push_back({examples.size(), model.text.source().encode(source, 0, nullptr),
                        model.text.target().encode(target, 0, nullptr)});
  }
  return examples;
}

std::vector<Example> lines(const Model& model) {
  return {{0, {}, model.text.target().encode("xyzzyx", 0, nullptr)},
          {1, {}, model.text.target().encode("zzz", 0, nullptr)}};
}

ModelView view(const Model& model, std::span<const Example> examples, size_t threads = 1) {
  Pool pool(threads);
  return view_model(model, examples, pool);
}

void scale_queries_and_keys(Model& model, float factor) {
  ParameterSet& set = model.transformer.parameters();
  for (size_t i = 0; i < set.size(); ++i) {
    if (!set[i].name.ends_with("in_proj_weight")) continue;
    const Tensor w = set[i].value;
    for (float& v : w.slice_rows(0, w.rows() / 3 * 2).host()) v *= factor;
  }
}

TEST(ModelView, EvenAttentionHasNoVariance) {
  Model model = testing::tiny_pairs_model();
  scale_queries_and_keys(model, 0);
  const ModelView v = view(model, pairs(model));
  ASSERT_THAT(v.attention, SizeIs(6));  // three kinds, two layers
  for (const AttentionView& attention : v.attention) {
    ASSERT_THAT(attention.heads, SizeIs(2));
    for (const HeadView& head : attention.heads) {
      EXPECT_NEAR(head.variance, 0, 1e-9);
      EXPECT_NEAR(head.effective, 1, 1e-6);
      EXPECT_EQ(head.saturated, 0);
      EXPECT_NEAR(head.first, head.even, 1e-6);
      EXPECT_NEAR(head.sink, 0, 1e-6);
    }
  }
}

TEST(ModelView, LargeScoresSaturate) {
  Model model = testing::tiny_pairs_model();
  scale_queries_and_keys(model, 30);
  const ModelView v = view(model, pairs(model));
  for (const AttentionView& attention : v.attention) {
    for (const HeadView& head : attention.heads) {
      EXPECT_GT(head.saturated, 0.5);
      EXPECT_GE(head.unscaled, head.saturated);
      EXPECT_LT(head.effective, 0.7);
    }
  }
  const auto sections = report_sections(v, Language::kEnglish);
  EXPECT_TRUE(sections[0].alarming) << sections[0].met;
}

// A query's scores, computed here from the weights of one head by the definition of the variance.
TEST(ModelView, VarianceIsThatOfTheLogarithmsOfWeights) {
  const Model model = testing::tiny_pairs_model();
  const std::vector<Example> examples = {pairs(model)[0]};
  Pool pool(1);
  const AttentionMaps maps = attention_maps(model, examples[0], pool);
  const AttentionMap& map = maps.maps[0];
  const size_t keys = maps.source.size();
  double total = 0;
  for (size_t q = 0; q < keys; ++q) {
    double mean = 0, variance = 0;
    for (size_t k = 0; k < keys; ++k) mean += std::log(map.weights[q * keys + k]) / keys;
    for (size_t k = 0; k < keys; ++k) {
      variance += std::pow(std::log(map.weights[q * keys + k]) - mean, 2) / keys;
    }
    total += variance / keys;
  }
  EXPECT_NEAR(view(model, examples).attention[0].heads[0].variance, total, 1e-6 * total);
}

TEST(ModelView, LossIsThatOfScoring) {
  const Model model = testing::tiny_pairs_model();
  const std::vector<Example> examples = pairs(model);
  Pool pool(1);
  double log_probability = 0;
  size_t tokens = 0;
  for (const Score& s : score(model, examples, pool, 100)) {
    log_probability += s.log_probability;
    tokens += s.tokens;
  }
  const ModelView v = view(model, examples);
  EXPECT_EQ(v.tokens, tokens);
  EXPECT_NEAR(v.loss, -log_probability / static_cast<double>(tokens), 1e-6);
}

TEST(ModelView, GradientsAreThoseOfTheResidual) {
  for (const Residual residual : {Residual::kNone, Residual::kPlain, Residual::kPost,
                                  Residual::kPre, Residual::kBranch, Residual::kDeepNorm}) {
    SCOPED_TRACE(name_of(residual));
    ModelConfig config = testing::tiny_config();
    config.residual = residual;
    const Model model = testing::tiny_pairs_model(1, config);
    const ModelView v = view(model, pairs(model));
    ASSERT_THAT(v.sub_layers, SizeIs(10));  // 2 x 2 of the encoder, 2 x 3 of the decoder
    for (const SubLayerSummary& s : v.sub_layers) {
      SCOPED_TRACE(s.name);
      EXPECT_GT(s.gradient, 0);
      EXPECT_GE(s.largest, s.size);
      EXPECT_LE(s.gradient, (s.through_branch + s.through_residual) * 1.0001);
      EXPECT_EQ(s.through_residual > 0, residual != Residual::kNone);
    }
  }
}

TEST(ModelView, IsTheSameForAnyThreads) {
  const Model model = testing::tiny_text_model();
  const ReportSubject subject{"m", "d"};
  EXPECT_EQ(report_json(subject, view(model, lines(model), 1)),
            report_json(subject, view(model, lines(model), 2)));
}

TEST(Report, IsOnePageInBothLanguages) {
  const Model model = testing::tiny_text_model();
  const ModelView v = view(model, lines(model));
  for (const Language language : {Language::kEnglish, Language::kKorean}) {
    const std::string page = report_page({"<model>", "data.txt", 2}, v, language);
    EXPECT_THAT(page, HasSubstr("&lt;model&gt;"));
    EXPECT_THAT(page, ::testing::Not(HasSubstr("<model>")));
    EXPECT_THAT(page, ::testing::Not(HasSubstr(" src=")));
    for (const ReportSection& section : report_sections(v, language)) {
      EXPECT_THAT(page, HasSubstr(section.heading));
    }
  }
  const Json json = report_json({"m", "d", 2}, v);
  EXPECT_EQ(json["attention"].size(), 4U);  // two layers of two heads
  EXPECT_EQ(json["sub_layers"].size(), 4U);
  EXPECT_EQ(json["left_out"], 2);
}

TEST(Report, ShowsTheLoadOfExperts) {
  ModelConfig config = testing::tiny_config();
  config.experts = 3;
  const Model model = testing::tiny_pairs_model(1, config);
  const ModelView v = view(model, pairs(model));
  ASSERT_THAT(v.experts, SizeIs(4));  // of every layer
  for (const ExpertUse& use : v.experts) {
    EXPECT_NEAR(std::accumulate(use.load.begin(), use.load.end(), 0.0), 1, 1e-6);
  }
  EXPECT_EQ(report_sections(v, Language::kEnglish).back().key, "experts");
  EXPECT_EQ(report_json({"m", "d"}, v)["experts"].size(), 4U);
}

TEST(Report, LeavesOutWhatShortTextsDoNotShow) {
  const Model model = testing::tiny_text_model();
  const auto keys_of = [&](const char* text) {
    const Example example = {0, {}, model.text.target().encode(text, 0, nullptr)};
    std::vector<std::string> keys;
    for (const auto& s : report_sections(view(model, {&example, 1}), Language::kEnglish)) {
      keys.push_back(s.key);
      EXPECT_EQ(s.met.find("inf"), std::string::npos) << s.met;
    }
    return keys;
  };
  using ::testing::Contains;
  using ::testing::Not;
  EXPECT_THAT(keys_of("xyzz"), Contains("first"));
  EXPECT_THAT(keys_of("x"), Not(Contains("first")));  // two rows: no query sees four keys
  EXPECT_THAT(keys_of("x"), Contains("variance"));
}

// A head whose weights are all 0 but one has a great variance, not none.
TEST(ModelView, WeightsThatUnderflowCount) {
  Model model = testing::tiny_pairs_model();
  scale_queries_and_keys(model, 300);
  const ModelView v = view(model, pairs(model));
  for (const HeadView& head : v.attention[0].heads) EXPECT_GT(head.variance, 100);
}

TEST(Report, ShowsTheLearnedSinkWhereThereIsOne) {
  ModelConfig config = testing::tiny_config();
  config.attention_sink = true;
  const Model model = testing::tiny_pairs_model(1, config);
  const ModelView v = view(model, pairs(model));
  for (const AttentionView& attention : v.attention) {
    for (const HeadView& head : attention.heads) EXPECT_GT(head.sink, 0);
  }
  std::vector<std::string> keys;
  for (const auto& section : report_sections(v, Language::kEnglish)) keys.push_back(section.key);
  EXPECT_THAT(keys, ::testing::Contains("sink"));
}

}  // namespace
}  // namespace rapt::insight

#include "rapt/insight/heads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "rapt/insight/experiment_test.h"

namespace rapt::insight {
namespace {

using Kind = AttentionMap::Kind;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

AttentionMaps text_of(std::vector<AttentionMap> maps, size_t tokens) {
  AttentionMaps text;
  text.source.assign(tokens, "x");
  text.target = text.source;
  text.maps = std::move(maps);
  return text;
}

TEST(HeadLooks, AreMeansOverQueries) {
  const std::vector<double> previous = {1, 0, 0, 1, 0, 0, 0, 1, 0};
  const std::vector<double> mirrored = {0, 0, 1, 0, 1, 0, 1, 0, 0};
  const auto looks =
      looks_of({text_of({{Kind::kEncoder, 0, 0, previous}, {Kind::kEncoder, 0, 1, mirrored}}, 3)});
  ASSERT_EQ(looks.size(), 2u);
  EXPECT_DOUBLE_EQ(looks[0].weight[kPrevious], 2.0 / 3);
  EXPECT_DOUBLE_EQ(looks[0].weight[kFirst], 2.0 / 3);
  EXPECT_DOUBLE_EQ(looks[0].weight[kSame], 1.0 / 3);
  EXPECT_DOUBLE_EQ(looks[1].weight[kMirrored], 1);
  EXPECT_EQ(looks[1].favourite(), kMirrored);
  EXPECT_DOUBLE_EQ(looks[1].effective_keys, 1);
  EXPECT_DOUBLE_EQ(looks[0].even_share, 1.0 / 3);
}

TEST(HeadLooks, OfADecoderCountVisibleKeysAndTheSink) {
  const std::vector<double> half = {0.5, 0, 0.25, 0.25};
  const auto looks = looks_of({text_of({{Kind::kDecoder, 0, 0, half}}, 2)});
  EXPECT_DOUBLE_EQ(looks[0].sink, 0.5);
  EXPECT_DOUBLE_EQ(looks[0].several, 1);  // the first query sees one key
  EXPECT_DOUBLE_EQ(looks[0].first_of_several, 0.25);
  EXPECT_DOUBLE_EQ(looks[0].even_share, 0.5);
  EXPECT_DOUBLE_EQ(looks[0].weight[kLast], (0.5 + 0.25) / 2);
  EXPECT_DOUBLE_EQ(looks[0].weight[kNext], 0);
}

TEST(HeadLooks, CountNoKeysBeyondTheWindow) {
  EXPECT_EQ(keys_seen(Kind::kDecoder, 0, 4, 9).count, 5U);
  EXPECT_EQ(keys_seen(Kind::kDecoder, 3, 4, 9).first, 1U);
  EXPECT_EQ(keys_seen(Kind::kDecoder, 3, 4, 9).count, 4U);
  EXPECT_EQ(keys_seen(Kind::kEncoder, 0, 4, 9).count, 9U);
  EXPECT_EQ(keys_seen(Kind::kEncoder, 2, 4, 9).count, 5U);
  EXPECT_EQ(keys_seen(Kind::kEncoder, 2, 8, 9).count, 3U);
  EXPECT_EQ(keys_seen(Kind::kCross, 2, 8, 9).count, 9U);

  AttentionMaps text;
  text.target = {"a", "b", "c"};
  text.window = 1;
  text.maps = {{Kind::kDecoder, 0, 0, {1, 0, 0, 0.25, 0.75, 0, 0, 0.5, 0.5}}};
  const std::vector<HeadLook> looks = looks_of({text});
  EXPECT_DOUBLE_EQ(looks[0].several, 1);  // the third query does not see the first key
  EXPECT_DOUBLE_EQ(looks[0].first_of_several, 0.25);
  EXPECT_DOUBLE_EQ(looks[0].even_share, 0.5);
}

TEST(HeadDistances, AreTheWeightThatLiesElsewhere) {
  const std::vector<double> same = {1, 0, 0, 1}, other = {0, 1, 0, 1};
  const auto distances = distances_of({text_of(
      {{Kind::kEncoder, 0, 0, same}, {Kind::kEncoder, 0, 1, other}, {Kind::kEncoder, 1, 0, same}},
      2)});
  ASSERT_EQ(distances.size(), 1u);  // a layer with one head has no pair
  EXPECT_DOUBLE_EQ(distances[0].distance, 0.5);
}

TEST(HeadAttention, OfASmallModelSumsToOne) {
  TrainingOptions o{.d_model = 8, .heads = 2, .d_ff = 8};
  const TaskModel model(o.layer(), 2, true, o.symbols, 1);
  Pool pool(1);
  const auto texts = attention_of(model, task_batch(o, 1, 0, 3), pool);
  ASSERT_EQ(texts.size(), 3u);
  for (const AttentionMaps& text : texts) {
    ASSERT_EQ(text.maps.size(), 4u);
    EXPECT_EQ(text.maps[2].layer, 1u);
    EXPECT_EQ(text.maps[3].head, 1u);
    for (const AttentionMap& map : text.maps) {
      ASSERT_EQ(map.weights.size(), o.length * o.length);
      double sum = 0;
      for (const double w : map.weights) sum += w;
      EXPECT_NEAR(sum, static_cast<double>(o.length), 1e-5);
    }
  }
}

TEST(TextOptions, NeedAModelAndItsTexts) {
  Pool pool(1);
  const auto run = [&](TextOptions text) {
    return [text, &pool] { heads({.text = text}, {pool}); };
  };
  EXPECT_THAT(run({.input = "a"}), ThrowsMessage<InvalidArgument>(HasSubstr("--model")));
  EXPECT_THAT(run({.model = "m"}), ThrowsMessage<InvalidArgument>(HasSubstr("--data FILE")));
  EXPECT_THAT(run({.model = "m", .input = "a", .data = "b"}),
              ThrowsMessage<InvalidArgument>(HasSubstr("one of them")));
}

TEST(Heads, OfASmallModel) {
  HeadsOptions o;
  o.layers = 1;
  o.probe_sentences = 8;
  o.training.steps = 30;
  const Measured m(heads, o);
  EXPECT_EQ(m["heads"], 4);
  EXPECT_EQ(m["layers_compared"], 1);
  EXPECT_GT(m["distance_least"], 0);
  EXPECT_LE(m["distance_most"], 1);
}

}  // namespace
}  // namespace rapt::insight

#include "rapt/decode/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "rapt/decode/decoder.h"
#include "rapt/decode/live_set.h"
#include "rapt/decode/scorer.h"
#include "rapt/decode/tiny_model_for_tests.h"

namespace rapt {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::Gt;
using ::testing::Not;
using testing::tiny_pairs_model;
using testing::tiny_text_model;

Sentence sentence_of(const Model& model, const std::string& line) {
  std::vector<int32_t> ids = model.text.source().encode(line);
  ids.push_back(model.text.source().ids().eos);
  return {ids, {}, 0};
}

std::vector<Hypothesis> decode_one(const Model& model, const DecodeOptions& options,
                                   const Sentence& sentence) {
  Pool pool(1);
  return Decoder(model, options, pool).decode({&sentence, 1}).front();
}

// Every output of at most `limit` symbols that the model may produce, best score first.
std::vector<Hypothesis> all_outputs(const Model& model, const DecodeOptions& options,
                                    const Sentence& sentence, size_t limit) {
  const VocabularyFilter filter(model.text.target(), options);
  std::vector<std::vector<int32_t>> texts{{}}, newest{{}};
  for (size_t length = 1; length <= limit; ++length) {
    std::vector<std::vector<int32_t>> longer;
    for (const auto& text : newest) {
      for (int32_t id = 0; id < static_cast<int32_t>(model.text.target().size()); ++id) {
        if (id == filter.eos() || !filter.allows(id)) continue;
        longer.push_back(text);
        longer.back().push_back(id);
      }
    }
    texts.insert(texts.end(), longer.begin(), longer.end());
    newest = std::move(longer);
  }
  std::vector<Example> examples;
  std::vector<int32_t> source(sentence.source.begin(), sentence.source.end() - 1);
  for (const auto& text : texts) examples.push_back({examples.size(), source, text});
  Pool pool(1);
  const std::vector<Score> scores = score(model, examples, pool);
  std::vector<Hypothesis> outputs;
  for (size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].size() < options.min_length) continue;
    outputs.push_back(
        {texts[i], scores[i].log_probability,
         length_normalized(scores[i].log_probability, texts[i].size() + 1, options.length_penalty),
         true});
  }
  std::ranges::stable_sort(outputs, std::greater(), &Hypothesis::score);
  return outputs;
}

// A beam that holds everything is exhaustive search; the numbers are those of `score`, to the bit.
TEST(BeamSearch, AWideBeamFindsWhatExhaustiveSearchFinds) {
  for (const uint64_t seed : {1, 2, 3}) {
    for (const float penalty : {0.0f, 0.6f, 1.0f, 2.0f, -0.5f}) {
      for (const size_t min_length : {size_t{0}, size_t{2}}) {
        const Model model = tiny_pairs_model(seed);
        DecodeOptions options;
        options.beam = 200;
        options.nbest = 4;
        options.max_length = 4;  // </s> among them
        options.length_penalty = penalty;
        options.min_length = min_length;
        const Sentence sentence = sentence_of(model, "abcd");
        const auto expected = all_outputs(model, options, sentence, 3);
        const auto found = decode_one(model, options, sentence);
        ASSERT_EQ(found.size(), 4u);
        for (size_t i = 0; i < found.size(); ++i) {
          EXPECT_EQ(found[i].ids, expected[i].ids) << "seed " << seed << ", penalty " << penalty;
          EXPECT_EQ(found[i].log_probability, expected[i].log_probability);
          EXPECT_EQ(found[i].score, expected[i].score);
          EXPECT_TRUE(found[i].complete);
        }
      }
    }
  }
}

TEST(BeamSearch, GreedyTakesTheLikeliestSymbolEachTime) {
  const Model model = tiny_pairs_model(4);
  const Sentence sentence = sentence_of(model, "abca");
  Pool pool(1);
  Context ctx(Mode::kInference, pool);
  const VocabularyFilter filter(model.text.target(), {});
  const size_t limit = 6;
  LiveSet live(ctx, model.transformer, filter, {&sentence, 1}, {&limit, 1}, 1);
  std::vector<int32_t> expected;
  for (bool complete = false; !complete && expected.size() < limit;) {
    const auto step = live.step();
    const auto log_p = step.row(0);
    int32_t best = filter.eos();
    for (int32_t id = 0; id < static_cast<int32_t>(log_p.size()); ++id) {
      if (filter.allows(id) && log_p[static_cast<size_t>(id)] > log_p[static_cast<size_t>(best)])
        best = id;
    }
    complete = best == filter.eos();
    if (complete) break;
    expected.push_back(best);
    live.advance(std::vector<uint32_t>{0}, {{0, expected, 0.0}});
  }
  DecodeOptions options;
  options.max_length = limit;
  EXPECT_EQ(decode_one(model, options, sentence).front().ids, expected);
}

TEST(Decode, ALineHasTheSameBitsAloneInABatchAndOnSeveralThreads) {
  const Model model = tiny_pairs_model(5);
  std::vector<Sentence> sentences;
  for (const char* line : {"abcd", "a", "dcba", "bb", "abcabcabc", "d", "cab", "abcd"}) {
    sentences.push_back(sentence_of(model, line));
  }
  for (const bool sample : {false, true}) {
    DecodeOptions options;
    options.sample = sample;
    options.beam = sample ? 1 : 3;
    options.nbest = 2;
    std::vector<std::vector<Hypothesis>> expected;
    for (const Sentence& s : sentences) expected.push_back(decode_one(model, options, s));
    for (const size_t threads : {1, 3}) {
      for (const size_t batch_tokens : {1, 12, 4096}) {
        options.batch_tokens = batch_tokens;
        Pool pool(threads);
        const auto found = Decoder(model, options, pool).decode(sentences);
        for (size_t i = 0; i < sentences.size(); ++i) {
          ASSERT_EQ(found[i].size(), expected[i].size());
          for (size_t n = 0; n < found[i].size(); ++n) {
            EXPECT_EQ(found[i][n].ids, expected[i][n].ids);
            EXPECT_EQ(found[i][n].log_probability, expected[i][n].log_probability);
          }
        }
      }
    }
  }
}

TEST(Decode, APrefixIsContinuedAsIfItHadBeenChosen) {
  const Model model = tiny_pairs_model(6);
  Sentence sentence = sentence_of(model, "abcd");
  DecodeOptions options;
  options.beam = 200;
  options.max_length = 3;
  sentence.prefix = model.text.target().encode("zx");
  const Hypothesis found = decode_one(model, options, sentence).front();
  DecodeOptions whole = options;
  whole.length_penalty = options.length_penalty = 0;  // so that the prefix adds a constant
  const Hypothesis free = decode_one(model, options, sentence).front();
  const auto all = all_outputs(model, whole, sentence, 4);
  const auto best = std::ranges::find_if(all, [&](const Hypothesis& h) {
    return h.ids.size() >= 2 &&
           std::equal(sentence.prefix.begin(), sentence.prefix.end(), h.ids.begin());
  });
  std::vector<int32_t> text = sentence.prefix;
  text.insert(text.end(), free.ids.begin(), free.ids.end());
  EXPECT_EQ(text, best->ids);
  EXPECT_LE(found.ids.size(), 2u);
}

TEST(Decode, UnknownAndControlSymbolsAreNotProducedUnlessAllowed) {
  const SpecialIds ids = tiny_pairs_model().text.target().ids();
  size_t unknown = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const Model model = tiny_pairs_model(seed);
    DecodeOptions options;
    const Sentence sentence = sentence_of(model, "abcd");
    const auto found = decode_one(model, options, sentence).front().ids;
    EXPECT_THAT(found, Each(Gt(3)));
    options.allow_unk = true;
    const auto allowed = decode_one(model, options, sentence).front().ids;
    unknown += static_cast<size_t>(std::ranges::count(allowed, ids.unk));
    EXPECT_THAT(allowed, Not(Contains(ids.bos)));
  }
  EXPECT_GT(unknown, 0u) << "no seed wanted <unk>, so nothing was tested";
}

TEST(Decode, OutputAtTheLimitIsCutAndSaysSo) {
  const Model model = tiny_pairs_model(1);
  DecodeOptions options;
  options.min_length = options.max_length = 5;
  const Hypothesis h = decode_one(model, options, sentence_of(model, "ab")).front();
  EXPECT_EQ(h.ids.size(), 5u);
  EXPECT_FALSE(h.complete);
  options.min_length = 0;
  options.max_length = 0;
  Sentence sentence = sentence_of(model, "ab");
  EXPECT_EQ(length_limit(model.transformer, options, sentence), 31u);  // positions
  sentence.prefix.assign(31, 4);
  EXPECT_EQ(length_limit(model.transformer, options, sentence), 1u);
  EXPECT_LE(decode_one(model, options, sentence).front().ids.size(), 1u);
}

// The model reads the start symbol and each token but the last: a step a token, none for the end.
TEST(Decode, AnOutputOfNTokensTakesNSteps) {
  const Model model = tiny_pairs_model(1);
  const Sentence sentence = sentence_of(model, "ab");
  Pool pool(1);
  DecodeOptions options;
  options.min_length = options.max_length = 5;
  const VocabularyFilter filter(model.text.target(), options);
  for (const bool sample : {false, true}) {
    options.sample = sample;
    Context ctx(Mode::kInference, pool);
    size_t steps = 0;
    ctx.profile([&](const char* op, Context::Phase, std::span<const Tensor>) {
      steps += std::string_view(op) == "log_softmax" ? 1 : 0;
    });
    EXPECT_EQ(search(ctx, model.transformer, filter, {&sentence, 1}, options)[0][0].ids.size(), 5u);
    EXPECT_EQ(steps, 5u);
  }
}

TEST(Sampling, DrawsFollowTheModel) {
  const Model model = tiny_pairs_model(2);
  const Sentence sentence = sentence_of(model, "ab");
  DecodeOptions options;
  options.sample = true;
  options.max_length = 1;
  options.nbest = 1000;
  std::map<std::vector<int32_t>, double> counts;
  for (const Hypothesis& h : decode_one(model, options, sentence)) counts[h.ids] += 1.0 / 1000;
  const VocabularyFilter filter(model.text.target(), options);
  const size_t limit = 1;
  Pool pool(1);
  Context ctx(Mode::kInference, pool);
  const auto step = LiveSet(ctx, model.transformer, filter, {&sentence, 1}, {&limit, 1}, 1).step();
  const auto log_p = step.row(0);
  double mass = 0;
  for (size_t v = 0; v < log_p.size(); ++v) {
    if (filter.allows(static_cast<int32_t>(v))) mass += std::exp(log_p[v]);
  }
  for (size_t v = 0; v < log_p.size(); ++v) {
    const auto id = static_cast<int32_t>(v);
    if (!filter.allows(id)) continue;
    const double p = std::exp(log_p[v]) / mass;
    const auto ids = id == filter.eos() ? std::vector<int32_t>() : std::vector<int32_t>{id};
    EXPECT_NEAR(counts[ids], p, 5 * std::sqrt(p * (1 - p) / 1000) + 1e-9);
  }
}

TEST(Sampling, EachOptionNarrowsOrChangesTheDraws) {
  const Model model = tiny_pairs_model(2);
  const Sentence sentence = sentence_of(model, "abcd");
  DecodeOptions base;
  base.sample = true;
  base.max_length = 12;
  base.nbest = 8;
  const auto draws = [&](const auto& change) {
    DecodeOptions options = base;
    change(options);
    std::vector<std::vector<int32_t>> ids;
    for (const Hypothesis& h : decode_one(model, options, sentence)) ids.push_back(h.ids);
    return ids;
  };
  const auto free = draws([](auto&) {});
  EXPECT_EQ(draws([](auto&) {}), free);
  EXPECT_NE(draws([](auto& o) { o.seed = 2; }), free);
  EXPECT_NE(draws([](auto& o) { o.temperature = 3; }), free);

  DecodeOptions greedy;
  greedy.max_length = 12;
  const auto best = decode_one(model, greedy, sentence).front().ids;
  EXPECT_THAT(draws([](auto& o) { o.top_k = 1; }), Each(best));
  EXPECT_THAT(draws([](auto& o) { o.top_p = 0; }), Each(best));
  EXPECT_THAT(draws([](auto& o) { o.min_p = 1; }), Each(best));
  EXPECT_THAT(draws([](auto& o) { o.temperature = 1e-3f; }), Each(best));
  EXPECT_NE(free, std::vector(8, best));
}

// The k likeliest are cut out of all before they are put in order: the draw is that of a full sort.
TEST(Sampling, TopKDrawsWhatItDrawsWhenNothingIsCut) {
  const Model model = tiny_pairs_model(2);
  const Sentence sentence = sentence_of(model, "abcd");
  DecodeOptions options;
  options.sample = true;
  options.max_length = 12;
  options.nbest = 8;
  const auto all = decode_one(model, options, sentence);
  options.top_k = model.text.target().size();
  const auto found = decode_one(model, options, sentence);
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(found[i].ids, all[i].ids);

  // Of the draws of two symbols, each is one of the two likeliest.
  options.top_k = 2;
  options.max_length = 1;
  options.nbest = 50;
  const VocabularyFilter filter(model.text.target(), options);
  const size_t limit = 1;
  Pool pool(1);
  Context ctx(Mode::kInference, pool);
  const auto step = LiveSet(ctx, model.transformer, filter, {&sentence, 1}, {&limit, 1}, 1).step();
  const auto log_p = step.row(0);
  const auto p = [&](int32_t id) { return log_p[static_cast<size_t>(id)]; };
  std::vector<int32_t> order;
  for (int32_t id = 0; id < static_cast<int32_t>(log_p.size()); ++id) {
    if (filter.allows(id)) order.push_back(id);
  }
  std::ranges::sort(order, [&](int32_t a, int32_t b) { return p(a) > p(b); });
  for (const Hypothesis& h : decode_one(model, options, sentence)) {
    const int32_t drawn = h.ids.empty() ? filter.eos() : h.ids[0];
    EXPECT_TRUE(drawn == order[0] || drawn == order[1]);
  }
}

TEST(Sampling, EqualLinesTakeTheirOwnSamplesInTurn) {
  const Model model = tiny_pairs_model(2);
  DecodeOptions options;
  options.sample = true;
  Pool pool(1);
  Decoder decoder(model, options, pool);
  const std::vector<int32_t> source = sentence_of(model, "abcd").source;
  EXPECT_EQ(decoder.sentence(source, {}).sample, 0u);
  EXPECT_EQ(decoder.sentence(source, {}).sample, 1u);
  EXPECT_EQ(decoder.sentence(sentence_of(model, "ab").source, {}).sample, 0u);
}

TEST(Window, MovesByHalfAWindow) {
  EXPECT_EQ(window_start(1, 8), 0u);
  EXPECT_EQ(window_start(8, 8), 0u);
  EXPECT_EQ(window_start(9, 8), 4u);
  EXPECT_EQ(window_start(12, 8), 4u);
  EXPECT_EQ(window_start(13, 8), 8u);
  EXPECT_EQ(window_start(3, 1), 2u);
}

TEST(Window, ADecoderOnlyModelGoesOnBeyondItsPositionsWithTheSameBitsInAnyBatch) {
  for (const Positions positions : {Positions::kLearned, Positions::kRotary, Positions::kAlibi}) {
    const Model model = tiny_text_model(1, positions);
    DecodeOptions options;
    options.sample = true;
    options.max_length = 40;
    std::vector<Sentence> sentences;
    for (const char* prompt : {"", "xyz", "xyzxyzxyzxyzxyzzyx", "z"}) {
      sentences.push_back({{}, model.text.target().encode_text(prompt), 0});
    }
    Pool pool(2);
    const auto together = Decoder(model, options, pool).decode(sentences);
    for (size_t i = 0; i < sentences.size(); ++i) {
      const auto alone = decode_one(model, options, sentences[i]);
      EXPECT_EQ(alone.front().ids, together[i].front().ids);
      EXPECT_EQ(alone.front().log_probability, together[i].front().log_probability);
    }
  }
}

TEST(DecodeOptions, RejectsWhatContradictsItself) {
  DecodeOptions options;
  options.nbest = 3;
  EXPECT_THROW(options.validate(), InvalidArgument);
  options.beam = 3;
  options.validate();
  options.sample = true;
  EXPECT_THROW(options.validate(), InvalidArgument);
  options = {};
  options.min_length = 5;
  options.max_length = 4;
  EXPECT_THROW(options.validate(), InvalidArgument);
  options = {};
  options.temperature = 0;
  EXPECT_THROW(options.validate(), InvalidArgument);
}

}  // namespace
}  // namespace rapt

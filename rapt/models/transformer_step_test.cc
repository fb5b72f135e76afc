// Decoding with a cache gives the bits of the teacher-forced pass: alone, in any batch, after any
// reordering, with prompts of any length, packed or not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "rapt/models/tiny_model_test.h"
#include "rapt/ops/log_softmax.h"

namespace rapt {
namespace {

using testing::all_masks;
using testing::expect_same_bits;
using ::testing::HasSubstr;
using testing::random_ids;
using testing::test_pool;
using ::testing::ThrowsMessage;
using testing::tiny_config;
using testing::tiny_decoder_config;
using testing::tiny_model;

constexpr size_t kMostRows = 12;

struct Sentence {
  uint64_t id = 0;
  std::vector<int32_t> source, target;
};

// Wide enough that several blocks of a product and a ragged last panel are met.
ModelConfig wide(ModelConfig c) {
  c.d_model = 36;
  c.heads = 3;
  c.kv_heads = c.kv_heads == 0 ? 0 : 1;
  c.d_ff = 70;
  return c;
}
std::vector<ModelConfig> configs() {
  ModelConfig pre = tiny_config();
  pre.residual = Residual::kPre;
  pre.tie = Tie::kAll;
  pre.output_bias = false;
  ModelConfig post_decoder = tiny_decoder_config();
  post_decoder.residual = Residual::kPost;
  post_decoder.positions = Positions::kSinusoidal;
  ModelConfig branch = tiny_config();
  branch.residual = Residual::kBranch;
  branch.norm = NormKind::kRms;
  ModelConfig deep = wide(tiny_config());
  deep.residual = Residual::kDeepNorm;
  ModelConfig none = tiny_decoder_config();
  none.residual = Residual::kNone;
  ModelConfig batch = tiny_config();
  batch.norm = NormKind::kBatch;
  ModelConfig experts = tiny_config();
  experts.experts = 4;
  experts.gated = true;
  ModelConfig decoder_experts = wide(tiny_decoder_config());
  decoder_experts.experts = 3;
  ModelConfig free_heads = wide(tiny_config());
  free_heads.heads = 5;
  free_heads.d_k = 9;
  free_heads.d_v = 4;
  // Heads that are interleaved in the cache.
  ModelConfig interleaved = tiny_config();
  interleaved.heads = 8;
  interleaved.d_k = 5;
  interleaved.d_v = 16;
  ModelConfig grouped = tiny_decoder_config();
  grouped.heads = 8;
  grouped.kv_heads = 4;
  grouped.d_k = 6;
  grouped.d_v = 16;
  grouped.window = 3;
  grouped.attention_sink = true;
  std::vector<ModelConfig> all = {tiny_config(),
                                  wide(tiny_config()),
                                  pre,
                                  tiny_decoder_config(),
                                  wide(post_decoder),
                                  branch,
                                  deep,
                                  none,
                                  batch,
                                  experts,
                                  decoder_experts,
                                  interleaved,
                                  grouped};
  for (const auto& [score, name] : kNames<ScoreKind>) {
    all.push_back(all.size() % 2 == 0 ? free_heads : post_decoder);
    all.back().score = score;
  }
  all.push_back(all_masks(tiny_config(), Positions::kAlibi));
  all.push_back(all_masks(tiny_decoder_config(), Positions::kRotary));
  all.push_back(wide(all_masks(tiny_config(), Positions::kRotary)));
  all.push_back(all_masks(tiny_config(), Positions::kAlibi));
  all.back().score = ScoreKind::kAdditive;
  return all;
}

std::vector<Sentence> sentences(const ModelConfig& c) {
  const size_t lengths[][2] = {{5, 6}, {1, 9}, {7, 2}, {3, 12}};
  std::vector<Sentence> all;
  for (uint32_t i = 0; i < 4; ++i) {
    Sentence s{100 + i, {}, random_ids(lengths[i][1], testing::kTargetVocabulary, 50 + i)};
    if (c.has_encoder()) s.source = random_ids(lengths[i][0], testing::kSourceVocabulary, i);
    all.push_back(std::move(s));
  }
  return all;
}

// Log-probabilities [target rows, vocabulary] of one sentence by itself, without a cache.
Tensor teacher_forced(const Transformer& model, const Sentence& s) {
  Tensor all(MemoryPool::process(), {s.target.size(), model.target_vocabulary()});
  // token_log_probabilities gives one class a row: ask for each class in turn.
  Shard shard;
  if (model.config().has_encoder()) {
    shard.source = Lengths({{s.id, static_cast<uint32_t>(s.source.size()), 0}});
  }
  shard.source_ids = s.source;
  shard.target = Lengths({{s.id, static_cast<uint32_t>(s.target.size()), 0}});
  shard.target_in = s.target;
  for (size_t v = 0; v < model.target_vocabulary(); ++v) {
    shard.target_out.assign(s.target.size(), static_cast<int32_t>(v));
    Context ctx(Mode::kInference, test_pool());
    const Tensor column = model.token_log_probabilities(ctx, shard);
    for (size_t r = 0; r < column.size(); ++r) all.matrix().row(r)[v] = column.host()[r];
  }
  return all;
}

// A search that follows given targets: hypotheses in the order of `live`, `fed` rows of each done.
class Follower {
 public:
  Follower(const Transformer& model, std::vector<Sentence> all)
      : model_(model),
        all_(std::move(all)),
        ctx_(Mode::kInference, test_pool()),
        state_(model.make_state(all_.size(), kMostRows)) {
    std::vector<Sequence> lengths;
    std::vector<int32_t> ids;
    for (const Sentence& s : all_) {
      lengths.push_back({s.id, static_cast<uint32_t>(s.source.size()), 0});
      ids.insert(ids.end(), s.source.begin(), s.source.end());
      live_.push_back(&s);
    }
    fed_.assign(all_.size(), 0);
    model_.open(ctx_, state_, Lengths(lengths), ids);
  }
  const Sentence& sentence(size_t i) const { return *live_[i]; }
  size_t live() const { return live_.size(); }
  size_t fed(size_t i) const { return fed_[i]; }

  // rows[i] more of hypothesis i. Log-probabilities after each one's last.
  Tensor step(const std::vector<uint32_t>& rows) {
    std::vector<Sequence> lengths;
    std::vector<int32_t> ids;
    for (size_t i = 0; i < live_.size(); ++i) {
      lengths.push_back({live_[i]->id, rows[i], fed_[i]});
      const auto first = live_[i]->target.begin() + fed_[i];
      ids.insert(ids.end(), first, first + rows[i]);
      fed_[i] += rows[i];
    }
    return ops::log_softmax(ctx_, model_.step(ctx_, state_, Lengths(lengths), ids)).value();
  }
  void reorder(const std::vector<uint32_t>& parents) {
    state_.reorder(parents);
    std::vector<const Sentence*> live;
    std::vector<uint32_t> fed;
    for (const uint32_t p : parents) {
      live.push_back(live_[p]);
      fed.push_back(fed_[p]);
    }
    live_ = live;
    fed_ = fed;
  }
  size_t free_slots() const { return state_.cache().free_slots(); }

 private:
  const Transformer& model_;
  const std::vector<Sentence> all_;
  Context ctx_;
  State state_;
  std::vector<const Sentence*> live_;
  std::vector<uint32_t> fed_;
};

void expect_rows(Follower& follower, const Tensor& log_p,
                 const std::map<uint64_t, Tensor>& expected, const char* what) {
  for (size_t i = 0; i < follower.live(); ++i) {
    SCOPED_TRACE(concat(what, ", hypothesis ", i, ", row ", follower.fed(i) - 1));
    const Tensor& whole = expected.at(follower.sentence(i).id);
    expect_same_bits(log_p.slice_rows(i, i + 1),
                     whole.slice_rows(follower.fed(i) - 1, follower.fed(i)));
  }
}

std::map<uint64_t, Tensor> all_teacher_forced(const Transformer& model,
                                              const std::vector<Sentence>& all) {
  std::map<uint64_t, Tensor> expected;
  for (const Sentence& s : all) expected[s.id] = teacher_forced(model, s);
  return expected;
}

TEST(TransformerStep, GivesTheBitsOfATeacherForcedPass) {
  for (const ModelConfig& config : configs()) {
    for (const bool packed : {false, true}) {
      Transformer model = tiny_model(config);
      const std::vector<Sentence> all = sentences(config);
      const auto expected = all_teacher_forced(model, all);
      if (packed) model.pack();

      // Each alone, a row at a time.
      for (const Sentence& s : all) {
        Follower alone(model, {s});
        for (size_t r = 0; r < s.target.size(); ++r) {
          expect_rows(alone, alone.step({1}), expected, "alone");
        }
      }
      // Prompts of several rows, mixed lengths; sentences leave when they are done.
      Follower batch(model, all);
      expect_rows(batch, batch.step({3, 1, 2, 7}), expected, "prompts");
      batch.reorder({3, 0, 1});
      expect_rows(batch, batch.step({1, 2, 1}), expected, "mixed");
      batch.reorder({1, 2, 0});
      while (batch.live() > 0) {
        std::vector<uint32_t> going;
        for (size_t i = 0; i < batch.live(); ++i) {
          if (batch.fed(i) < batch.sentence(i).target.size()) {
            going.push_back(static_cast<uint32_t>(i));
          }
        }
        batch.reorder(going);
        if (batch.live() == 0) break;
        expect_rows(batch, batch.step(std::vector<uint32_t>(batch.live(), 1)), expected, "batch");
      }
      EXPECT_EQ(batch.free_slots(), all.size() * kMostRows);
    }
  }
}

// Beams that fork write different futures behind a shared past.
TEST(TransformerStep, ReorderedBeamsKeepTheirOwnPast) {
  for (const ModelConfig& config : configs()) {
    const Transformer model = tiny_model(config);
    std::vector<Sentence> forks = sentences(config);
    forks.resize(2);
    forks[0].target.resize(6);
    forks[1].target.resize(6);
    forks[1].source = forks[0].source;
    std::copy_n(forks[0].target.begin(), 3, forks[1].target.begin());
    const auto expected = all_teacher_forced(model, forks);

    Context ctx(Mode::kInference, test_pool());
    State state = model.make_state(2, 6);
    const auto size = static_cast<uint32_t>(forks[0].source.size());
    model.open(ctx, state, Lengths({{1, size, 0}}), forks[0].source);
    const auto& target = forks[0].target;
    model.step(ctx, state, Lengths({{1, 3, 0}}), std::span(target).first(3));
    state.reorder(std::vector<uint32_t>{0, 0});
    for (uint32_t t = 3; t < 6; ++t) {
      const std::vector<int32_t> ids = {forks[0].target[t], forks[1].target[t]};
      const Tensor logits = model.step(ctx, state, Lengths({{1, 1, t}, {1, 1, t}}), ids);
      const Tensor log_p = ops::log_softmax(ctx, logits).value();
      for (size_t i = 0; i < 2; ++i) {
        expect_same_bits(log_p.slice_rows(i, i + 1), expected.at(forks[i].id).slice_rows(t, t + 1));
      }
    }
  }
}

// A context of decoding belongs to one thread; each has its own over shared weights.
TEST(TransformerStep, SteadyStepsAskTheSystemForNothing) {
  for (const ModelConfig& config : {tiny_config(), tiny_decoder_config()}) {
    const Transformer model = tiny_model(config);
    const std::vector<Sentence> all = sentences(config);
    MemoryPool& memory = MemoryPool::process();
    Follower batch(model, {all[1], all[3]});
    batch.step({1, 1});
    batch.step({1, 1});
    const size_t before = memory.stats().system_allocations;
    for (int i = 0; i < 6; ++i) batch.step({1, 1});
    EXPECT_EQ(memory.stats().system_allocations, before);
  }
}

// What grouped queries are for: a cache of the key heads alone.
TEST(TransformerStep, TheCacheHoldsKeyHeadsOnly) {
  ModelConfig config = all_masks(tiny_decoder_config(), Positions::kRotary);
  config.d_v = 5;
  const State state = tiny_model(config).make_state(2, 7);
  EXPECT_EQ(state.cache().keys(1).shape(), (Shape{14, 2 * 4}));
  EXPECT_EQ(state.cache().values(1).shape(), (Shape{14, 2 * 5}));
}

TEST(TransformerStep, RefusesWhatDoesNotFitBeforeTheCacheIsTouched) {
  const ModelConfig config = tiny_decoder_config();
  const Transformer model = tiny_model(config);
  Context ctx(Mode::kInference, test_pool());
  State state = model.make_state(1, 4);
  model.open(ctx, state, Lengths({{1, 0, 0}}), {});
  const auto step = [&](const Lengths& lengths, std::vector<int32_t> ids) {
    return [&, lengths, ids] { model.step(ctx, state, lengths, ids); };
  };
  EXPECT_THAT(step(Lengths({{1, 1, 1}}), {1}),
              ThrowsMessage<InvalidArgument>(HasSubstr("a past of 1 rows, but 0")));
  EXPECT_THAT(step(Lengths({{1, 0, 0}}), {}),
              ThrowsMessage<InvalidArgument>(HasSubstr("hypothesis 0 has no row")));
  EXPECT_THAT(step(Lengths({{1, 1, 0}, {2, 1, 0}}), {1, 1}),
              ThrowsMessage<InvalidArgument>(HasSubstr("lengths of 2 hypotheses")));
  EXPECT_THAT(
      step(Lengths({{1, 5, 0}}), {1, 1, 1, 1, 1}),
      ThrowsMessage<InvalidArgument>(HasSubstr("5 new rows, but the state has room for 4")));
  EXPECT_THAT(step(Lengths({{1, 1, 0}}), {99}), ThrowsMessage<InvalidArgument>(HasSubstr("id 99")));
  EXPECT_EQ(state.cache().free_slots(), 4u);
  EXPECT_NO_THROW(step(Lengths({{1, 4, 0}}), {1, 2, 3, 4})());

  Context recording(Mode::kEvaluation, test_pool());
  EXPECT_THROW(model.step(recording, state, Lengths({{1, 1, 4}}), std::vector<int32_t>{1}),
               InvalidArgument);
  EXPECT_THAT(
      [&] {
        model.open(ctx, state, Lengths({{1, 1, 0}}), std::vector<int32_t>{1});
      },
      ThrowsMessage<InvalidArgument>(HasSubstr("decoder-only")));
}

// What a cache cannot hide: it is the positions of max_positions that end a sequence.
TEST(TransformerStep, RefusesPositionsThatTheModelDoesNotHave) {
  ModelConfig config = tiny_decoder_config();
  config.max_positions = 3;
  const Transformer model = tiny_model(config);
  Context ctx(Mode::kInference, test_pool());
  State state = model.make_state(1, 8);
  model.open(ctx, state, Lengths({{1, 0, 0}}), {});
  model.step(ctx, state, Lengths({{1, 3, 0}}), std::vector<int32_t>{1, 2, 3});
  EXPECT_THAT(
      [&] {
        model.step(ctx, state, Lengths({{1, 1, 3}}), std::vector<int32_t>{4});
      },
      ThrowsMessage<InvalidArgument>(HasSubstr("max_positions 3")));
}

}  // namespace
}  // namespace rapt

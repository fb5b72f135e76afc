#include "rapt/text/batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "rapt/base/check.h"
#include "rapt/base/philox.h"

namespace rapt {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Le;
using testing::ThrowsMessage;

class BatchesTest : public testing::Test {
 protected:
  BatchesTest() : folder_(fs::temp_directory_path() / concat("rapt_batches-", ::getpid())) {
    fs::create_directories(folder_);
  }
  ~BatchesTest() override { fs::remove_all(folder_); }

  fs::path file(const char* name, std::string_view text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }
  // Pairs of 1 … 30 letters.
  ParallelCorpus corpus(uint32_t lines) const {
    std::string text;
    for (uint32_t i = 0; i < lines; ++i) {
      const PhiloxBlock draw = philox({i, 0, 0, 0}, 11);
      text += std::string(1 + draw[0] % 30, static_cast<char>('a' + draw[1] % 26)) + "\t" +
              std::string(1 + draw[2] % 30, static_cast<char>('a' + draw[3] % 26)) + "\n";
    }
    return ParallelCorpus::open({file("corpus.tsv", text)});
  }
  BatchPlan plan(const ParallelCorpus& corpus, const BatchOptions& options) {
    return BatchPlan(corpus, TextProcessor::build(TextOptions(), corpus), options, pool_);
  }
  static std::vector<Update> epoch_of(const BatchPlan& plan, uint64_t epoch) {
    std::vector<Update> updates;
    for (uint64_t i = 0; i < plan.updates(epoch); ++i) updates.push_back(plan.at(epoch, i));
    return updates;
  }
  static std::vector<uint64_t> ids(const Update& update) {
    std::vector<uint64_t> all;
    for (const Shard& shard : update.shards) {
      for (size_t s = 0; s < shard.target.sequences(); ++s) all.push_back(shard.target[s].id);
    }
    return all;
  }
  static std::vector<uint64_t> ids(const std::vector<Update>& updates) {
    std::vector<uint64_t> all;
    for (const Update& update : updates) {
      for (const uint64_t id : ids(update)) all.push_back(id);
    }
    return all;
  }
  static std::vector<uint64_t> sorted(std::vector<uint64_t> ids) {
    std::sort(ids.begin(), ids.end());
    return ids;
  }
  static std::vector<uint64_t> numbers(uint64_t n) {
    std::vector<uint64_t> all(n);
    for (uint64_t i = 0; i < n; ++i) all[i] = i;
    return all;
  }

  const fs::path folder_;
  Pool pool_{1};
};

bool operator==(const Lengths& a, const Lengths& b) {
  if (a.sequences() != b.sequences()) return false;
  for (size_t s = 0; s < a.sequences(); ++s) {
    if (a[s].id != b[s].id || a[s].size != b[s].size || a[s].past != b[s].past) return false;
  }
  return true;
}
void expect_same(const std::vector<Update>& a, const std::vector<Update>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].target_tokens, b[i].target_tokens);
    ASSERT_EQ(a[i].shards.size(), b[i].shards.size());
    for (size_t s = 0; s < a[i].shards.size(); ++s) {
      const Shard &x = a[i].shards[s], &y = b[i].shards[s];
      ASSERT_TRUE(x.source == y.source && x.target == y.target);
      ASSERT_EQ(x.source_ids, y.source_ids);
      ASSERT_EQ(x.target_in, y.target_in);
      ASSERT_EQ(x.target_out, y.target_out);
    }
  }
}

TEST_F(BatchesTest, AnEpochHoldsEveryItemOnce) {
  const BatchPlan batches = plan(corpus(5000), {.batch_tokens = 200});
  for (const uint64_t epoch : {0, 1, 7}) {
    EXPECT_EQ(sorted(ids(epoch_of(batches, epoch))), numbers(5000));
  }
}

TEST_F(BatchesTest, RowsAreSentencesWithTheirEnds) {
  const ParallelCorpus pairs = ParallelCorpus::open({file("a.tsv", "ab\txyz\nc\tzz\n")});
  const BatchPlan batches = plan(pairs, {});
  ASSERT_EQ(batches.updates(0), 1u);
  const Update update = batches.at(0, 0);
  EXPECT_EQ(update.target_tokens, 7u);
  ASSERT_EQ(update.shards.size(), 1u);
  const Shard& shard = update.shards[0];
  // Sorted by target length: line 1 first. Source a b c = 4 5 6; target z x y = 4 5 6.
  EXPECT_THAT(shard.source_ids, ElementsAre(6, 2, 4, 5, 2));
  EXPECT_THAT(shard.target_in, ElementsAre(1, 4, 4, 1, 5, 6, 4));
  EXPECT_THAT(shard.target_out, ElementsAre(4, 4, 2, 5, 6, 4, 2));
  EXPECT_EQ(shard.source[0].id, 1u);
  EXPECT_EQ(shard.source[0].size, 2u);
  EXPECT_EQ(shard.target[1].id, 0u);
  EXPECT_EQ(shard.target[1].size, 4u);
  EXPECT_EQ(shard.target[1].past, 0u);
}

TEST_F(BatchesTest, UpdatesKeepTheBudgetAndWindowsSortByLength) {
  const BatchPlan batches = plan(corpus(5000), {.batch_tokens = 300});
  const uint64_t updates = batches.updates(0);
  const uint64_t tokens = batches.counts().target_tokens;
  EXPECT_GT(updates, tokens / 300);
  EXPECT_LT(updates, tokens / 300 * 11 / 10);
  size_t spread = 0;
  for (const Update& update : epoch_of(batches, 0)) {
    EXPECT_LE(update.target_tokens, 300u);
    EXPECT_LE(update.shards[0].source_ids.size(), 600u);
    size_t low = 1000, high = 0;
    for (size_t s = 0; s < update.shards[0].target.sequences(); ++s) {
      low = std::min<size_t>(low, update.shards[0].target[s].size);
      high = std::max<size_t>(high, update.shards[0].target[s].size);
    }
    spread += high - low;
  }
  EXPECT_LT(spread, 2 * updates);  // unsorted, lengths in an update differ by about 25
}

TEST_F(BatchesTest, SourcesAreLimitedToo) {
  std::string text;
  for (int i = 0; i < 50; ++i) text += std::string(99, 'a') + "\tb\n";
  const BatchPlan batches =
      plan(ParallelCorpus::open({file("a.tsv", text)}), {.batch_tokens = 250});
  EXPECT_EQ(batches.updates(0), 10u);
  for (const Update& update : epoch_of(batches, 0))
    EXPECT_EQ(update.shards[0].source_ids.size(), 500u);
}

TEST_F(BatchesTest, AnItemBeyondTheBudgetStandsAlone) {
  const auto pairs = ParallelCorpus::open({file("a.tsv", "a\tbbbbbbbbbbbb\na\tb\na\tbb\n")});
  const BatchPlan batches = plan(pairs, {.batch_tokens = 6});
  EXPECT_EQ(batches.updates(0), 2u);
  EXPECT_EQ(sorted({batches.at(0, 0).target_tokens, batches.at(0, 1).target_tokens}),
            (std::vector<uint64_t>{5, 13}));
}

TEST_F(BatchesTest, IsAPureFunctionOfSeedEpochAndIndex) {
  const ParallelCorpus pairs = corpus(3000);
  const BatchOptions options = {.seed = 5, .batch_tokens = 200};
  const BatchPlan batches = plan(pairs, options);
  const std::vector<Update> epoch0 = epoch_of(batches, 0), epoch1 = epoch_of(batches, 1);
  expect_same(epoch_of(plan(pairs, options), 1), epoch1);
  // Backwards, and between epochs: the order of asking does not matter.
  for (uint64_t i = epoch0.size(); i-- > 0;) {
    expect_same({batches.at(0, i)}, {epoch0[i]});
    if (i < epoch1.size()) expect_same({batches.at(1, i)}, {epoch1[i]});
  }
  EXPECT_NE(ids(epoch0), ids(epoch1));
  EXPECT_NE(ids(epoch0), ids(epoch_of(plan(pairs, {.seed = 6, .batch_tokens = 200}), 0)));
  EXPECT_FALSE(std::is_sorted(epoch0.begin(), epoch0.end(), [](const Update& a, const Update& b) {
    return a.shards[0].target.longest() < b.shards[0].target.longest();
  })) << "updates of a window come in the order of their lengths";
}

TEST_F(BatchesTest, TheNumberOfThreadsChangesNothing) {
  const ParallelCorpus pairs = corpus(3000);
  const auto text =
      TextProcessor::build(TextOptions(), ParallelCorpus::open({file("b.tsv", "ab\tab\n")}));
  const BatchOptions options = {.batch_tokens = 200};
  Pool three(3);
  const BatchPlan one = BatchPlan(pairs, text, options, pool_),
                  many = BatchPlan(pairs, text, options, three);
  expect_same(epoch_of(one, 0), epoch_of(many, 0));
  EXPECT_GT(one.unknown_source().count(), 1000u);
  EXPECT_EQ(one.unknown_source().warning("x"), many.unknown_source().warning("x"));
  EXPECT_EQ(one.unknown_target().count(), many.unknown_target().count());
  EXPECT_EQ(one.unknown_source().first()[0].line, 1u);
}

TEST_F(BatchesTest, ShardsCutTheSameUpdates) {
  const ParallelCorpus pairs = corpus(3000);
  const std::vector<Update> whole = epoch_of(plan(pairs, {.batch_tokens = 400}), 2);
  const std::vector<Update> cut = epoch_of(plan(pairs, {.batch_tokens = 400, .shards = 4}), 2);
  ASSERT_EQ(whole.size(), cut.size());
  for (size_t i = 0; i < whole.size(); ++i) {
    EXPECT_EQ(ids(cut[i]), ids(whole[i]));
    EXPECT_EQ(cut[i].target_tokens, whole[i].target_tokens);
    EXPECT_THAT(cut[i].shards.size(), Le(4u));
    for (const Shard& shard : cut[i].shards) {
      EXPECT_GT(shard.target.sequences(), 0u);
      EXPECT_LE(shard.target.rows(), cut[i].target_tokens / 4 + 31);
    }
  }
}

TEST_F(BatchesTest, AccumulationAndShardsAreOneThing) {
  const ParallelCorpus pairs = corpus(3000);
  expect_same(epoch_of(plan(pairs, {.batch_tokens = 400, .shards = 2}), 0),
              epoch_of(plan(pairs, {.batch_tokens = 200, .accumulate = 2}), 0));
  expect_same(epoch_of(plan(pairs, {.batch_tokens = 100, .accumulate = 4, .shards = 2}), 0),
              epoch_of(plan(pairs, {.batch_tokens = 400, .shards = 8}), 0));
}

TEST_F(BatchesTest, WhatIsLeftOutIsCounted) {
  const auto pairs =
      ParallelCorpus::open({file("a.tsv", "ab\tx\n\tx\nab\t\nabcdef\tx\nab\txxxxxx\nabcde\tx\n" +
                                              std::string(3000, 'a') + "\tx\n")},
                           {.max_line_bytes = 2000});
  const BatchOptions options = {.max_length = 6};
  const BatchPlan batches = plan(pairs, options);
  EXPECT_EQ(batches.counts().items, 7u);
  EXPECT_EQ(batches.counts().used, 2u);
  EXPECT_EQ(batches.counts().empty, 2u);
  EXPECT_EQ(batches.counts().too_long, 3u);
  EXPECT_EQ(batches.counts().target_tokens, 4u);
  EXPECT_EQ(batches.counts().source_tokens, 9u);
  EXPECT_EQ(batches.counts().report(options),
            "left out 5 of 7 items: 2 empty (first: line 2), 3 over 6 tokens (first: line 4)");
  EXPECT_EQ(sorted(ids(epoch_of(batches, 0))), (std::vector<uint64_t>{0, 5}));
  EXPECT_EQ(plan(pairs, {.max_length = 0}).counts().too_long, 1u);  // the line over the byte limit
  EXPECT_THAT([&] { plan(pairs, {.max_length = 1}); },
              ThrowsMessage<IoError>(HasSubstr("none of 7 items is left: 2 empty, 5 too long")));
  EXPECT_EQ(BatchCounts().report(options), "");
}

TEST_F(BatchesTest, ValidationKeepsOrderAndEmptyItems) {
  const auto pairs = ParallelCorpus::open({file("a.tsv", "ab\txxx\n\tx\nab\t\nabcdef\txxx\n")});
  const BatchPlan batches = plan(pairs, BatchOptions::validation(8, 0));
  EXPECT_EQ(batches.counts().used, 4u);
  EXPECT_EQ(batches.updates(0), 2u);
  for (const uint64_t epoch : {0, 5}) {
    EXPECT_THAT(ids(batches.at(epoch, 0)), ElementsAre(2, 1, 0));
    EXPECT_THAT(ids(batches.at(epoch, 1)), ElementsAre(3));
  }
  EXPECT_THAT(batches.at(0, 0).shards[0].target_out, ElementsAre(2, 4, 2, 4, 4, 4, 2));
  // Several windows: every item, window after window.
  const BatchPlan many = plan(corpus(3000), BatchOptions::validation(64, 0));
  const std::vector<uint64_t> order = ids(epoch_of(many, 0));
  EXPECT_EQ(sorted(order), numbers(3000));
  EXPECT_LT(*std::max_element(order.begin(), order.begin() + 100), 400u);
}

TEST_F(BatchesTest, WrongOptionsAndPlacesAreErrors) {
  const ParallelCorpus pairs = corpus(10);
  EXPECT_THAT([&] { plan(pairs, {.batch_tokens = 0}); },
              ThrowsMessage<InvalidArgument>(HasSubstr("batch_tokens: 0, expected 1 to")));
  EXPECT_THROW(plan(pairs, {.accumulate = 0}), InvalidArgument);
  EXPECT_THROW(plan(pairs, {.shards = 0}), InvalidArgument);
  const BatchPlan batches = plan(pairs, {});
  EXPECT_THAT([&] { batches.at(3, 1); },
              ThrowsMessage<InvalidArgument>(HasSubstr("update 1 of 1 in epoch 3")));
}

TEST_F(BatchesTest, ExamplesMakeShards) {
  const auto text = TextProcessor::build(TextOptions(), corpus(10));
  const Shard shard = make_shard(std::vector<Example>{{9, {7, 8}, {}}, {4, {}, {5}}}, text);
  EXPECT_THAT(shard.source_ids, ElementsAre(7, 8, 2, 2));
  EXPECT_THAT(shard.target_in, ElementsAre(1, 1, 5));
  EXPECT_THAT(shard.target_out, ElementsAre(2, 5, 2));
  EXPECT_EQ(shard.source[1].id, 4u);
}

class StreamBatchesTest : public BatchesTest {
 protected:
  // Lines of differing length, some longer than a chunk, tokenised as characters.
  StreamBatchesTest() {
    for (uint32_t i = 0; i < 300; ++i) {
      const uint32_t n = i % 100 == 7 ? 10000 : philox({i, 0, 0, 0}, 4)[0] % 60;
      for (uint32_t k = 0; k < n; ++k)
        text_ += static_cast<char>('a' + philox({i, k, 1, 0}, 4)[0] % 26);
      text_ += "\n";
    }
  }
  BatchPlan stream_plan(size_t context, const BatchOptions& options) {
    const TextStream stream(file("text", text_));
    processor_ = TextProcessor::build(SideOptions(), stream);
    return BatchPlan(stream, *processor_, context, options, pool_);
  }
  // Puts the windows together again; checks that each predicts its own successor.
  std::string text_of(const BatchPlan& plan, uint64_t epoch) {
    std::map<uint64_t, std::pair<std::vector<int32_t>, int32_t>> windows;
    for (const Update& update : epoch_of(plan, epoch)) {
      for (const Shard& shard : update.shards) {
        EXPECT_THAT(shard.source_ids, IsEmpty());
        EXPECT_EQ(shard.source.sequences(), 0u);
        for (size_t s = 0; s < shard.target.sequences(); ++s) {
          const auto in = shard.target_in.begin() + static_cast<ptrdiff_t>(shard.target.offset(s));
          const auto out =
              shard.target_out.begin() + static_cast<ptrdiff_t>(shard.target.offset(s));
          const auto n = static_cast<ptrdiff_t>(shard.target[s].size);
          EXPECT_TRUE(std::equal(in + 1, in + n, out));
          windows[shard.target[s].id] = {{in, in + n}, out[n - 1]};
        }
      }
    }
    std::vector<int32_t> ids;
    int32_t next = -1;
    for (const auto& [id, window] : windows) {
      EXPECT_TRUE(next < 0 || window.first[0] == next) << id;
      ids.insert(ids.end(), window.first.begin(), window.first.end());
      next = window.second;
    }
    ids.push_back(next);
    return processor_->target().decode(ids);
  }

  std::string text_;
  std::optional<TextProcessor> processor_;
};

TEST_F(StreamBatchesTest, WindowsCoverTheTextInEveryEpoch) {
  for (const bool shuffle : {true, false}) {
    const BatchPlan plan = stream_plan(64, {.batch_tokens = 768, .shuffle = shuffle});
    EXPECT_EQ(plan.counts().target_tokens, text_.size() - 1);
    for (const uint64_t epoch : {0, 1}) EXPECT_EQ(text_of(plan, epoch), text_) << epoch;
  }
}

TEST_F(StreamBatchesTest, UpdatesHoldTwelveWindowsOfSixtyFour) {
  const BatchPlan plan = stream_plan(64, {.batch_tokens = 768});
  size_t full = 0;
  for (const Update& update : epoch_of(plan, 0)) full += update.target_tokens == 768;
  EXPECT_GE(full + 3, plan.updates(0));
  EXPECT_NEAR(static_cast<double>(plan.updates(0)), static_cast<double>(text_.size()) / 768, 3);
}

TEST_F(StreamBatchesTest, WindowsStartElsewhereInEachEpoch) {
  const BatchPlan plan = stream_plan(64, {.batch_tokens = size_t{1} << 20});
  const auto first_size = [&](uint64_t epoch) {
    const Shard shard = plan.at(epoch, 0).shards[0];
    for (size_t s = 0; s < shard.target.sequences(); ++s) {
      if (shard.target[s].id == 0) return shard.target[s].size;
    }
    return 0u;
  };
  std::vector<uint32_t> sizes;
  for (uint64_t epoch = 0; epoch < 20; ++epoch) sizes.push_back(first_size(epoch));
  EXPECT_THAT(sizes, testing::Each(testing::AllOf(testing::Ge(1u), Le(64u))));
  std::sort(sizes.begin(), sizes.end());
  EXPECT_GT(std::unique(sizes.begin(), sizes.end()) - sizes.begin(), 10);
}

TEST_F(StreamBatchesTest, AnyContextFits) {
  for (const size_t context : {size_t{7}, text_.size() - 2, text_.size(), text_.size() * 2}) {
    const BatchPlan plan = stream_plan(context, {.batch_tokens = size_t{1} << 20});
    EXPECT_EQ(text_of(plan, 0), text_) << context;
  }
  text_.resize(2000);
  EXPECT_EQ(text_of(stream_plan(1, {}), 0), text_);
  text_ = "ab";
  EXPECT_EQ(stream_plan(64, {}).at(0, 0).target_tokens, 1u);
  text_ = "a";
  EXPECT_THAT([&] { stream_plan(64, {}); },
              ThrowsMessage<IoError>(HasSubstr("expected at least 2")));
}

}  // namespace
}  // namespace rapt

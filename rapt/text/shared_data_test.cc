// The text layer on real data: what is known of the data from elsewhere must come out.
#include "rapt/testing/shared_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "rapt/text/batches.h"

namespace rapt {
namespace {

TEST(SharedData, Multi30kIsReadWhole) {
  const auto en = shared_data("multi30k/bpe-wu2021/en-de/train.en");
  const auto de = shared_data("multi30k/bpe-wu2021/en-de/train.de");
  if (!en || !de) GTEST_SKIP() << kNoSharedData;
  const auto corpus = ParallelCorpus::open({*en, *de});
  EXPECT_EQ(corpus.size(), 29000u);
  TextOptions options;
  options.joint = true;
  options.source.tokenizer = options.target.tokenizer = "words";
  options.target.join = "@@ ";
  const auto text = TextProcessor::build(options, corpus);
  EXPECT_LE(text.target().size(), 10000u + 4 + 200);  // 10,000 merges, the symbols and the letters
  EXPECT_EQ(text.target().decode(text.target().encode("in der nähe viel@@ er bü@@ sche .")),
            "in der nähe vieler büsche .");

  Pool pool(2);
  const BatchPlan plan(corpus, text, {.batch_tokens = 8192}, pool);
  EXPECT_EQ(plan.counts().report(plan.options()), "");
  EXPECT_EQ(plan.unknown_source().count() + plan.unknown_target().count(), 0u);
  std::vector<bool> seen(corpus.size());
  uint64_t tokens = 0;
  for (uint64_t i = 0; i < plan.updates(0); ++i) {
    const Update update = plan.at(0, i);
    tokens += update.target_tokens;
    for (size_t s = 0; s < update.shards[0].target.sequences(); ++s) {
      EXPECT_FALSE(seen[update.shards[0].target[s].id]);
      seen[update.shards[0].target[s].id] = true;
    }
  }
  EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](bool b) { return b; }));
  EXPECT_EQ(tokens, plan.counts().target_tokens);
  EXPECT_LE(plan.updates(0), tokens / 8192 + 3);
}

// 1,115,394 characters, 65 of them different: the figures of nanoGPT's own preparation.
TEST(SharedData, TinyShakespeareHasItsCharacters) {
  const auto path = shared_data("tinyshakespeare/input.txt");
  if (!path) GTEST_SKIP() << kNoSharedData;
  const TextStream stream(*path);
  const auto text = TextProcessor::build(SideOptions(), stream);
  EXPECT_EQ(text.target().size(), 65u + 4);
  Pool pool(1);
  const BatchPlan plan(stream, text, 64, {.batch_tokens = 768}, pool);
  EXPECT_EQ(plan.counts().target_tokens, 1115393u);
}

}  // namespace
}  // namespace rapt

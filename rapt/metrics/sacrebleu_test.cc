// BLEU and chrF against figures of sacreBLEU (tests/goldens/make_metrics.py).
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "rapt/metrics/bleu.h"
#include "rapt/metrics/chrf.h"
#include "rapt/metrics/words.h"

namespace rapt::metrics {
namespace {

using Json = nlohmann::json;

// The file beside the sources, looked for from the working directory upwards.
Json goldens() {
  namespace fs = std::filesystem;
  for (fs::path folder = fs::current_path();; folder = folder.parent_path()) {
    const fs::path file = folder / "tests" / "goldens" / "metrics.json";
    if (fs::exists(file)) return Json::parse(std::ifstream(file));
    if (folder == folder.root_path()) break;
  }
  ADD_FAILURE() << "tests/goldens/metrics.json is in no folder above " << fs::current_path();
  return {};
}

struct Set {
  Lines hypotheses;
  References references;
};

// The lines of a case: a whole set, or one line of it.
Set lines_of(const Json& all, const Json& one) {
  const Json& set = all.at("sets").at(one.at("set").get<std::string>());
  Set out{set.at("hypotheses"), set.at("references")};
  if (one.contains("line")) {
    const size_t i = one.at("line");
    out = {{out.hypotheses[i]}, {out.references[i]}};
  }
  return out;
}

void expect_close(double ours, double theirs, const Json& one) {
  EXPECT_LE(std::abs(ours - theirs), 1e-9 * std::abs(theirs)) << ours << " != " << theirs << one;
}

TEST(SacreBleu, TokenizersSplitAlike) {
  const Json all = goldens();
  ASSERT_GT(all.at("tokens").size(), 100u);
  for (const Json& one : all.at("tokens")) {
    const std::string text = tokenize(bleu_tokenizer(one.at("tokenizer").get<std::string>()),
                                      strip_right(one.at("line").get_ref<const std::string&>()));
    const auto words = split_words(text);
    EXPECT_EQ(Lines(words.begin(), words.end()), one.at("tokens").get<Lines>()) << one;
  }
}

TEST(SacreBleu, BleuIsEqual) {
  const Json all = goldens();
  ASSERT_GT(all.at("bleu").size(), 50u);
  for (const Json& one : all.at("bleu")) {
    const BleuOptions options{bleu_tokenizer(one.at("tokenizer").get<std::string>()),
                              one.at("lowercase"), one.at("effective")};
    const auto [hypotheses, references] = lines_of(all, one);
    const BleuScore s = bleu(hypotheses, references, options);
    expect_close(s.score, one.at("score"), one);
    for (size_t n = 0; n < kBleuOrder; ++n) {
      expect_close(s.precisions[n], one.at("precisions")[n], one);
    }
    expect_close(s.brevity_penalty, one.at("bp"), one);
    EXPECT_EQ(s.hypothesis_length, one.at("sys_len"));
    EXPECT_EQ(s.reference_length, one.at("ref_len"));
    EXPECT_EQ(to_string(s), one.at("text"));
    EXPECT_EQ(bleu_signature(references, options), one.at("signature"));
  }
}

TEST(SacreBleu, ChrfIsEqual) {
  const Json all = goldens();
  ASSERT_GT(all.at("chrf").size(), 50u);
  for (const Json& one : all.at("chrf")) {
    const ChrfOptions options{one.at("word_order"), one.at("lowercase")};
    const auto [hypotheses, references] = lines_of(all, one);
    expect_close(chrf(hypotheses, references, options), one.at("score"), one);
    EXPECT_EQ(chrf_signature(references, options), one.at("signature"));
  }
}

}  // namespace
}  // namespace rapt::metrics

#include "rapt/insight/result.h"

#include <gtest/gtest.h>

#include <limits>

namespace rapt::insight {
namespace {

Table table() {
  return {"by_size", "크기별", {{"size", "크기"}, {"name", "name"}}, {{1, "a"}, {20.5, "무"}}};
}

TEST(Result, TablesStandInColumns) {
  EXPECT_EQ(to_text(table()),
            "크기별\n"
            "  크기   name\n"
            "     1   a\n"
            "  20.5   무\n");
}

TEST(Result, JsonHasKeysNotTitles) {
  Result r{{},
           {table()},
           {{"mean", 0.5}, {"lost", std::numeric_limits<double>::quiet_NaN()}},
           Verdict::kHoldsWhen,
           "n is 1."};
  const Json json = to_json(r);
  EXPECT_EQ(json["numbers"].dump(), R"({"mean":0.5,"lost":null})");
  EXPECT_EQ(json["tables"].dump(),
            R"({"by_size":[{"size":1.0,"name":"a"},{"size":20.5,"name":"무"}]})");
  EXPECT_TRUE(json["figure"]["panels"].empty());
}

TEST(Result, VerdictOpensTheSentence) {
  Result r{{}, {}, {}, Verdict::kHoldsWhen, "n is 1."};
  EXPECT_EQ(verdict_sentence(r, Language::kEnglish), "Holds when n is 1.");
  r.verdict = Verdict::kFails;
  EXPECT_EQ(verdict_sentence(r, Language::kEnglish), "Does not hold: n is 1.");
  r.sentence = "n은 1이다.";
  EXPECT_EQ(verdict_sentence(r, Language::kKorean), "성립하지 않는다: n은 1이다.");
}

}  // namespace
}  // namespace rapt::insight

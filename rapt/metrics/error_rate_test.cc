#include "rapt/metrics/error_rate.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <vector>

#include "rapt/base/check.h"
#include "rapt/base/philox.h"

namespace rapt::metrics {
namespace {

using testing::ElementsAre;
using testing::ThrowsMessage;
using Symbols = std::vector<uint32_t>;

// The recurrence as it is defined, over the whole table.
size_t edit_distance_ref(const Symbols& a, const Symbols& b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
      } else {
        d[i][j] = std::min(
            {d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1), d[i - 1][j] + 1, d[i][j - 1] + 1});
      }
    }
  }
  return d[a.size()][b.size()];
}

TEST(EditDistance, KnownPairs) {
  const auto of = [](std::string_view a, std::string_view b) {
    return edit_distance(Symbols(a.begin(), a.end()), Symbols(b.begin(), b.end()));
  };
  EXPECT_EQ(of("kitten", "sitting"), 3u);
  EXPECT_EQ(of("", ""), 0u);
  EXPECT_EQ(of("", "abc"), 3u);
  EXPECT_EQ(of("abc", ""), 3u);
  EXPECT_EQ(of("abc", "abc"), 0u);
  EXPECT_EQ(of("abcd", "acd"), 1u);
  EXPECT_EQ(of("aaaa", "aa"), 2u);
}

TEST(EditDistance, EqualsTheTable) {
  for (uint32_t round = 0; round < 500; ++round) {
    const PhiloxBlock bits = philox({round, 0, 0, 0}, 1);
    Symbols a(bits[0] % 20), b(bits[1] % 20);
    const auto draw = [&](Symbols& s, uint32_t which) {
      for (uint32_t i = 0; i < s.size(); ++i) s[i] = philox({round, i, which, 1}, 1)[0] % 3;
    };
    draw(a, 0);
    draw(b, 1);
    EXPECT_EQ(edit_distance(a, b), edit_distance_ref(a, b)) << round;
  }
}

TEST(ErrorRate, WerIsTheShareOfWrongLines) {
  const References references = {
      {"HH AH L OW"}, {"K AE T"}, {"T AH M EY T OW", "T AH M AA T OW"}, {""}};
  EXPECT_EQ(wer({"HH AH L OW", "K AA T", "T AH M AA T OW", ""}, references), 25);
  EXPECT_EQ(accuracy({"HH AH L OW", "K AA T", "T AH M AA T OW", ""}, references), 75);
  EXPECT_EQ(wer({" HH  AH L OW ", "K AE T", "T AH M EY T OW", ""}, references), 0);
  EXPECT_EQ(wer({"", "", "T AH M", "x"}, references), 100);
}

TEST(ErrorRate, PerIsEditsOverReferenceTokens) {
  // One substitution, one deletion, two insertions: 4 of 10.
  EXPECT_EQ(per({"a x c d", "e f", "g h i j k"}, {{"a b c d"}, {"e f g"}, {"g h i"}}), 40);
  EXPECT_EQ(per({"a b"}, {{""}}), 200);
  EXPECT_EQ(per({""}, {{""}}), 0);
  EXPECT_EQ(per({"a a a a"}, {{"a"}}), 300);
}

TEST(ErrorRate, PerTakesTheNearestReferenceThenTheLongest) {
  EXPECT_EQ(per({"a b c"}, {{"x y z", "a b d"}}), 100.0 / 3);
  EXPECT_THAT(token_errors({"a b"}, {{"a", "a b c"}}).total(), ElementsAre(1, 3));
  EXPECT_THAT(token_errors({"a b"}, {{"a b c", "a"}}).total(), ElementsAre(1, 3));
}

TEST(ErrorRate, CerCountsCodePoints) {
  EXPECT_EQ(cer({"größe"}, {{"grüße"}}), 20);
  EXPECT_EQ(cer({"한국어"}, {{"한국인"}}), 100.0 / 3);
  EXPECT_EQ(cer({"a  b "}, {{"a b"}}), 0);
  EXPECT_EQ(cer({"ab"}, {{"a b"}}), 100.0 / 3);
}

TEST(ErrorRate, RefusesLinesThatDoNotMatch) {
  EXPECT_THAT(
      [] {
        wer({"a"}, {{"a"}, {"b"}});
      },
      ThrowsMessage<InvalidArgument>(
          "wer: 1 hypotheses, but references for 2 lines; expected as many"));
  EXPECT_THAT(
      [] {
        per({"a", "b"}, {{"a"}, {}});
      },
      ThrowsMessage<InvalidArgument>("per: line 2 has no reference, expected one"));
  EXPECT_THAT([] { cer({}, {}); },
              ThrowsMessage<InvalidArgument>("cer: no lines, expected at least one"));
}

}  // namespace
}  // namespace rapt::metrics

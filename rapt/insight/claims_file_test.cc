#include "rapt/insight/claims_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace rapt::insight {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

const std::vector<std::pair<std::string, double>> kNumbers = {
    {"deviation", 22.61}, {"mean", -0.5}, {"lost", std::nan("")}};

TEST(Inequality, ComparesNumbersWithWhatWasMeasured) {
  const auto over = [](std::string_view text) {
    return Inequality(text, "here").over(kNumbers, "here");
  };
  EXPECT_TRUE(over("22.3 <= deviation <= 22.9").holds);
  EXPECT_EQ(over("22.3 <= deviation <= 22.9").text, "22.3 <= deviation = 22.61 <= 22.9");
  EXPECT_FALSE(over("22.3 <= deviation <= 22.6").holds);
  EXPECT_TRUE(over("mean < deviation").holds);
  EXPECT_TRUE(over("deviation > 1e1").holds);
  EXPECT_TRUE(over("mean == -0.5").holds);
  EXPECT_FALSE(over("mean >= 0").holds);
  EXPECT_FALSE(over("lost < 1").holds);
  EXPECT_FALSE(over("lost >= 1").holds);
}

TEST(Inequality, RefusesWhatIsNone) {
  for (const char* text : {"", "deviation", "1 < 2", "deviation <", "< 3", "deviation = 3",
                           "deviation < 2 * 3", "Deviation < 3", "deviation < 3x", "a b"}) {
    EXPECT_THAT([&] { Inequality(text, "c.toml:3: n"); },
                ThrowsMessage<InvalidArgument>(HasSubstr("c.toml:3: n: ")))
        << text;
  }
  EXPECT_THAT(
      [] { Inequality("median < 3", "here").over(kNumbers, "here"); },
      ThrowsMessage<InvalidArgument>(
          "here: the experiment measures no 'median', expected one of deviation, mean, lost"));
}

class ClaimsFile : public testing::Test {
 protected:
  std::vector<ClaimOnFile> read(const std::string& text) {
    write_file(path_, text);
    return read_claims(path_);
  }
  void expect_refused(const std::string& text, const std::string& message) {
    EXPECT_THAT([&] { read(text); }, ThrowsMessage<InvalidArgument>(HasSubstr(message))) << text;
  }
  void TearDown() override { fs::remove(path_); }

  const std::string whole_ =
      "# a comment\n[[claim]]\nname = \"a\"\nsentence = \"x, y\"\nexperiment = \"dice --dice 3\"\n"
      "expect = \"mean < 1\"\n";
  const fs::path path_ = fs::path(testing::TempDir()) / "rapt_claims_file_test.toml";
};

TEST_F(ClaimsFile, HoldsClaimsInOrder) {
  const auto claims = read(whole_ +
                           "[[claim]]\nname='b'\nsentence='s'\nsentence_ko='문장'\n"
                           "experiment='dice'\nexpect='1 < mean'\n");
  ASSERT_EQ(claims.size(), 2u);
  EXPECT_EQ(claims[0].sentence, "x, y");
  EXPECT_EQ(claims[0].sentence_ko, "x, y");
  EXPECT_EQ(claims[0].experiment, "dice --dice 3");
  EXPECT_EQ(claims[0].where, path_.string() + ":2: a");
  EXPECT_EQ(claims[1].sentence_ko, "문장");
}

TEST_F(ClaimsFile, NamesTheLineOfAFault) {
  expect_refused("", "expected tables [[claim]]");
  expect_refused("claim = 3", "expected tables [[claim]]");
  expect_refused("x = 1\n" + whole_, "expected tables [[claim]]");
  expect_refused("[[claim]]\nname = \"a", ":2: ");
  expect_refused("[[claim]]\nname = \"a\"\n", ":1: sentence is missing");
  expect_refused("[[claim]]\nname = 3\n", "name is no text");
  expect_refused(whole_ + "colour = \"red\"\n", "unknown key 'colour'");
  expect_refused(whole_ + whole_, ":8: a: the name is given twice");
  EXPECT_THROW(read_claims("/no/such/claims.toml"), IoError);
}

}  // namespace
}  // namespace rapt::insight

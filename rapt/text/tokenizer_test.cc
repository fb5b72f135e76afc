#include "rapt/text/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rapt/base/check.h"
#include "rapt/base/utf8.h"

namespace rapt {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string round_trip(const Tokenizer& tokenizer, std::string_view text) {
  return tokenizer.decode(tokenizer.encode(text));
}

TEST(CharTokenizer, TakesCodePointsAndKeepsEverySpace) {
  const auto tokenizer = make_char_tokenizer();
  EXPECT_THAT(tokenizer->encode("aß €"), ElementsAre("a", "ß", " ", "€"));
  EXPECT_THAT(tokenizer->encode(""), IsEmpty());
  for (const char* text : {"", " ", "  two  spaces ", "tab\there", "▁ literal", "e\u0301😀"}) {
    EXPECT_EQ(round_trip(*tokenizer, text), text);
  }
}

TEST(WordTokenizer, SplitsAtAsciiSpaceOnly) {
  const auto tokenizer = make_word_tokenizer();
  EXPECT_THAT(tokenizer->encode("  ein\tkleines  haus \r"), ElementsAre("ein", "kleines", "haus"));
  EXPECT_THAT(tokenizer->encode("10\u00A0000 \u3000"), ElementsAre("10\u00A0000", "\u3000"));
  EXPECT_THAT(tokenizer->encode("   "), IsEmpty());
  EXPECT_EQ(round_trip(*tokenizer, "  a   b "), "a b");
}

TEST(ByteTokenizer, KeepsEveryTextAndRepairsBrokenOutput) {
  const auto tokenizer = make_byte_tokenizer();
  EXPECT_THAT(tokenizer->encode("a€"), ElementsAre("<0x61>", "<0xE2>", "<0x82>", "<0xAC>"));
  for (const char* text : {"", " ", "ß €😀 <0x41>"}) EXPECT_EQ(round_trip(*tokenizer, text), text);
  const std::vector<std::string> broken = {"<0xE2>", "<0x61>", "<unk>", "<0xZZ>", "<0x+1>"};
  EXPECT_EQ(tokenizer->decode(broken), "\uFFFDa<unk><0xZZ><0x+1>");
  const std::vector<std::string> pieces = tokenizer->fixed_pieces();
  ASSERT_EQ(pieces.size(), 256u);
  EXPECT_EQ(pieces[0xAC], "<0xAC>");
}

TEST(Join, UndoesSubwordSegmentation) {
  EXPECT_EQ(joined("viel@@ er bü@@ sche .", "@@ "), "vieler büsche .");
  EXPECT_EQ(joined("abge@@", "@@ "), "abge");
  EXPECT_EQ(joined("a@@ b@@ c", "@@ "), "abc");
  EXPECT_EQ(joined("mail a@@b .", "@@ "), "mail a@@b .");
  EXPECT_EQ(joined("un@@ changed", ""), "un@@ changed");
  EXPECT_EQ(joined("", "@@ "), "");
}

}  // namespace
}  // namespace rapt

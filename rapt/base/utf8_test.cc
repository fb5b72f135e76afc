#include "rapt/base/utf8.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rapt/base/check.h"

namespace rapt {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using testing::ThrowsMessage;

std::string encoded(char32_t code) {
  std::string text;
  utf8_append(text, code);
  return text;
}

TEST(Utf8, EveryScalarValueSurvivesTheRoundTrip) {
  for (char32_t code = 0; code <= 0x10FFFF; ++code) {
    if (code >= 0xD800 && code <= 0xDFFF) continue;
    const std::string text = encoded(code);
    const CodePoint back = utf8_decode(text, 0);
    ASSERT_EQ(back.value, code);
    ASSERT_EQ(back.size, text.size());
    ASSERT_EQ(text.size(), code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4);
  }
}

// Exactly the scalar values are valid: of all byte strings of up to three bytes, counted by the
// lengths of the encodings, 128 + 1920 + (65536 - 2048 - 2048).
TEST(Utf8, NothingElseIsValid) {
  std::array<int, 4> valid = {};
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      for (int c = 0; c < 256; ++c) {
        const char bytes[] = {static_cast<char>(a), static_cast<char>(b), static_cast<char>(c)};
        const size_t size = utf8_decode({bytes, 3}, 0).size;
        ASSERT_LE(size, 3u);
        if (size == 3 || (size == 2 && c == 0) || (size == 1 && b == 0 && c == 0)) ++valid[size];
      }
    }
  }
  EXPECT_THAT(valid, ElementsAre(testing::_, 128, 1920, 61440));
  for (const char* bad : {"\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80",
                          "\xF0\x9F\x98", "\xED\xA0\x80", "\xC0\x80", "\xFF"}) {
    EXPECT_EQ(utf8_valid_prefix(bad), 0u) << printable(bad);
  }
}

TEST(Utf8, SplitsBetweenCodePoints) {
  EXPECT_THAT(utf8_split("aß€😀"), ElementsAre("a", "ß", "€", "😀"));
  EXPECT_TRUE(utf8_split("").empty());
  EXPECT_THROW(utf8_split("a\xFF"), InvalidArgument);
}

TEST(Utf8, CutsBeforeACodePointThatDoesNotFit) {
  EXPECT_EQ(utf8_cut("aß€", 10), 6u);
  EXPECT_EQ(utf8_cut("aß€", 6), 6u);
  EXPECT_EQ(utf8_cut("aß€", 5), 3u);
  EXPECT_EQ(utf8_cut("aß€", 2), 1u);
  EXPECT_EQ(utf8_cut("€", 2), 0u);
}

TEST(Utf8, ErrorsNameFileLineAndByte) {
  EXPECT_NO_THROW(check_utf8("gr\xC3\xBC\xC3\x9F", "a.de", 7));
  EXPECT_THAT(
      [] { check_utf8("gr\xFC\xDF", "a.de", 7); },
      ThrowsMessage<IoError>(StartsWith("a.de:7: invalid UTF-8 at byte 3 of the line (0xFC)")));
  EXPECT_THAT([] { check_utf8("\x80", "config.json", 0); },
              ThrowsMessage<IoError>(StartsWith("config.json: invalid UTF-8 at byte 1 (0x80)")));
}

TEST(Utf8, RepairsByReplacement) {
  EXPECT_EQ(utf8_repaired("fine ß"), "fine ß");
  EXPECT_EQ(utf8_repaired("a\xFF\xC3z"), "a\uFFFD\uFFFDz");
  EXPECT_EQ(utf8_repaired("\xE2\x82"), "\uFFFD");
}

TEST(Utf8, ShowsNothingThatSteersATerminal) {
  EXPECT_EQ(printable("a\x1B[2J\n\tß\x7F"), "a\\x1B[2J\\n\\tß\\x7F");
  EXPECT_EQ(printable("x\u202Ey\u200B"), "x\\u202Ey\\u200B");
  EXPECT_EQ(printable("\xFFz"), "\\xFFz");
  EXPECT_EQ(printable("ßßß", 4), "ßß…");
  EXPECT_EQ(code_name(U'ß'), "U+00DF");
  EXPECT_EQ(code_name(U'😀'), "U+1F600");
}

}  // namespace
}  // namespace rapt

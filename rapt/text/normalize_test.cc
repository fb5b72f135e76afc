#include "rapt/text/normalize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rapt/base/check.h"

namespace rapt {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

std::string form(std::string_view text, const char* name, bool lower = false) {
  return normalized(text, normalization_of(name), lower);
}

// The examples of UAX #15: singletons, composites, several marks, compatibility.
TEST(Normalize, FollowsTheExamplesOfTheStandard) {
  const char* angstrom = "\u212B";
  EXPECT_EQ(form(angstrom, "nfd"), "A\u030A");
  EXPECT_EQ(form(angstrom, "nfc"), "\u00C5");
  EXPECT_EQ(form("\u1E69", "nfd"), "s\u0323\u0307");
  EXPECT_EQ(form("s\u0307\u0323", "nfc"), "\u1E69");
  EXPECT_EQ(form("\uFB01", "nfc"), "\uFB01");
  EXPECT_EQ(form("\uFB01 2\u2075", "nfkc"), "fi 25");
  EXPECT_EQ(form("\uD55C", "nfd"), "\u1112\u1161\u11AB");  // Hangul into its letters
  EXPECT_EQ(form("\u1112\u1161\u11AB", "nfc"), "\uD55C");
  EXPECT_EQ(form("s\u0307\u0323", "none"), "s\u0307\u0323");
}

TEST(Normalize, LowersBeyondAsciiAndThenNormalises) {
  EXPECT_EQ(form("ÄÖ STRASSE Σίσυφος ΣΊΣΥΦΟΣ", "none", true), "äö strasse σίσυφος σίσυφος");
  EXPECT_EQ(form("\u0130", "nfc", true), "i\u0307");  // full mapping: two code points
  EXPECT_EQ(form("A\u030A", "nfc", true), "\u00E5");
  EXPECT_EQ(form("ABC", "none", false), "ABC");
}

TEST(Normalize, KeepsBytesThatHaveNothingToChange) {
  const std::string text("a\0b\tß €😀", 14);
  EXPECT_EQ(form(text, "nfc", true), text);
  EXPECT_EQ(form("", "nfkc", true), "");
}

TEST(Normalize, LeavesAsciiWhereItIs) {
  const std::string_view text = "Plain ~ text\t\x7F";
  std::string buffer;
  for (const char* name : {"none", "nfc", "nfd", "nfkc"}) {
    const Normalization form = normalization_of(name);
    EXPECT_EQ(normalized(text, form, false, buffer).data(), text.data());
    EXPECT_EQ(normalized(text, form, true, buffer), "plain ~ text\t\x7F");
    EXPECT_EQ(normalized("[@Z`z{ e\u0301", form, true, buffer),
              form == Normalization::kNfc || form == Normalization::kNfkc ? "[@z`z{ \u00E9"
                                                                          : "[@z`z{ e\u0301");
  }
}

TEST(Normalize, NamesAreKnownInAnyCase) {
  for (const char* name : {"none", "nfc", "nfd", "nfkc"})
    EXPECT_EQ(name_of(normalization_of(name)), name);
  EXPECT_EQ(normalization_of("NFKC"), Normalization::kNfkc);
  EXPECT_THAT([] { normalization_of("nfx"); },
              ThrowsMessage<InvalidArgument>(
                  HasSubstr("normalization \"nfx\": expected none, nfc, nfd or nfkc")));
}

}  // namespace
}  // namespace rapt

#include "rapt/text/vocabulary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "rapt/base/check.h"

namespace rapt {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(Vocabulary, OrdersByFallingCountThenCodePoint) {
  const PieceCounts counts = {{"b", 2}, {"a", 2}, {"rare", 1}, {"z", 5}, {"\uFFFD", 2}, {"😀", 2}};
  EXPECT_THAT(Vocabulary::of_counts(counts, 1, 0).symbols(),
              ElementsAre("<pad>", "<s>", "</s>", "<unk>", "z", "a", "b", "\uFFFD", "😀", "rare"));
  EXPECT_THAT(Vocabulary::of_counts(counts, 2, 0).symbols().back(), "😀");
  EXPECT_THAT(Vocabulary::of_counts(counts, 1, 6).symbols(),
              ElementsAre("<pad>", "<s>", "</s>", "<unk>", "z", "a"));
  EXPECT_EQ(Vocabulary::of_counts(counts, 1, 2).size(), 4u);
}

TEST(Vocabulary, TextThatLooksLikeASymbolIsNotOne) {
  const Vocabulary v = Vocabulary::of_counts({{"</s>", 9}, {"<unk>", 9}, {"word", 1}}, 1, 0);
  EXPECT_EQ(v.size(), 5u);
  EXPECT_EQ(v.find("word"), 4);
  for (const std::string_view symbol : kSpecialSymbols) EXPECT_EQ(v.find(symbol), std::nullopt);
  EXPECT_EQ(v.find("other"), std::nullopt);
  EXPECT_EQ(v.symbol(2), "</s>");
}

TEST(Vocabulary, RefusesWhatIsAmbiguous) {
  EXPECT_THAT(
      [] {
        Vocabulary({"a", "b", "a"}, {}, "vocabulary.json");
      },
      ThrowsMessage<IoError>("vocabulary.json: \"a\" has two ids, 0 and 2"));
  EXPECT_THROW(Vocabulary({}, {}, "x"), IoError);
  const std::vector<int32_t> outside = {1};
  EXPECT_THROW(Vocabulary({"a"}, outside, "x"), IoError);
}

TEST(Vocabulary, FilesKeepEverySymbol) {
  const fs::path path = fs::temp_directory_path() / concat("rapt_vocabulary-", ::getpid());
  const std::vector<std::string> symbols = {"<pad>", " ", "\n", "\"", "\\", "ß", "😀", "\x01", ""};
  write_symbols(path, symbols);
  EXPECT_EQ(read_symbols(path), symbols);
  write_file(path, "[\"a\", 1]");
  EXPECT_THAT([&] { read_symbols(path); },
              ThrowsMessage<IoError>(HasSubstr("entry 1 is no string")));
  write_file(path, "{}");
  EXPECT_THAT([&] { read_symbols(path); },
              ThrowsMessage<IoError>(HasSubstr("expected a JSON array")));
  fs::remove(path);
}

TEST(UnknownSymbols, CountsAllAndNamesTheFirstThree) {
  UnknownSymbols early, late;
  EXPECT_EQ(early.warning("a.de"), "");
  early.add(3, "ß");
  EXPECT_EQ(early.warning("a.de"),
            "a.de: 1 symbol is not in the vocabulary and became <unk>: line 3 'ß' (U+00DF)");
  late.add(7, "\x1B");
  late.add(8, "so long a");
  late.add(9, "x");
  early.merge(late);
  EXPECT_EQ(early.count(), 4u);
  EXPECT_EQ(
      early.warning("a.de"),
      "a.de: 4 symbols are not in the vocabulary and became <unk>, first: line 3 'ß' (U+00DF), "
      "line 7 '\\x1B' (U+001B), line 8 'so long a' "
      "(U+0073 U+006F U+0020 U+006C U+006F U+006E …)");
}

}  // namespace
}  // namespace rapt

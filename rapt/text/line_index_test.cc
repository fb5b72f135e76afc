// The index of lines against a scan of the whole text, for every size of block and number of threads.
#include "rapt/text/line_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "rapt/base/check.h"
#include "rapt/base/philox.h"

namespace rapt {
namespace {

using testing::StartsWith;

class LineIndexTest : public testing::Test {
 protected:
  LineIndexTest() : path_(fs::temp_directory_path() / concat("rapt_line_index-", ::getpid())) {}
  ~LineIndexTest() override { fs::remove(path_); }

  std::vector<uint64_t> index(std::string_view text, size_t block, size_t threads = 2,
                              size_t columns = 0) {
    std::ofstream(path_, std::ios::binary) << text;
    const InputFile file(path_);
    Pool pool(threads);
    const Offsets starts = index_lines(file, "name", columns, &pool, block);
    std::vector<uint64_t> all;
    for (size_t i = 0; i < starts.size(); ++i) all.push_back(starts[i]);
    return all;
  }
  // What all sizes of block and numbers of threads report.
  std::string error(std::string_view text, size_t columns = 0) {
    std::string first;
    for (const size_t block : {4, 5, 16, 4096}) {
      for (const size_t threads : {1, 2, 3}) {
        try {
          index(text, block, threads, columns);
          ADD_FAILURE() << "no error with blocks of " << block;
        } catch (const IoError& error) {
          if (first.empty()) first = error.what();
          EXPECT_EQ(error.what(), first) << block << ' ' << threads;
        }
      }
    }
    return first;
  }

  const fs::path path_;
};

std::vector<uint64_t> expected(std::string_view text) {
  std::vector<uint64_t> starts = {text.starts_with("\xEF\xBB\xBF") ? size_t{3} : 0};
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') starts.push_back(i + 1);
  }
  if (!text.ends_with('\n')) starts.push_back(text.size() + 1);
  return starts;
}

TEST_F(LineIndexTest, LinesAreTheSameForEveryBlock) {
  std::string mixed;
  for (uint32_t i = 0; i < 60; ++i) {
    const PhiloxBlock draw = philox({i, 0, 0, 0}, 3);
    for (uint32_t k = 0; k < draw[0] % 9; ++k) mixed += draw[1] % 3 == 0 ? "€" : "x";
    mixed += draw[2] % 4 == 0 ? "\r\n" : "\n";
  }
  for (const std::string& text :
       {std::string("a"), std::string("\n"), std::string("\n\n\n\n\n\n\n\n\n"), std::string("a\nb"),
        std::string("\xEF\xBB\xBF"), std::string("\xEF\xBB\xBF\n"), std::string("\xEF\xBB\xBFx\ny"),
        std::string("abc\ndef\nghi\n"), std::string("abcd\nefgh\nijkl"), std::string(50, 'x'),
        std::string(50, 'x') + "\n" + std::string(50, 'y') + "\nz", mixed, mixed + "last"}) {
    for (size_t block = 1; block < 40; ++block) {
      EXPECT_EQ(index(text, block), expected(text)) << block << '\n' << text;
    }
    EXPECT_EQ(index(text, size_t{1} << 22, 1), expected(text));
  }
}

// A line of several reads between short ones: its block is not that of its end.
TEST_F(LineIndexTest, AHugeLineCrossesBlocks) {
  std::string text = "short\n";
  while (text.size() < 1'000'000) text += "€";
  text += "\nshort\n";
  for (const size_t block : {4096, 300'000, 1 << 22}) {
    EXPECT_EQ(index(text, block), expected(text)) << block;
  }
}

TEST_F(LineIndexTest, TheFirstFaultOfTheFileIsReportedWithItsLine) {
  std::string text;
  for (int i = 1; i < 100; ++i) text += "line\n";
  EXPECT_THAT(error(text + "ab\xFFz\nline\n\xFE\n"),
              StartsWith("name:100: invalid UTF-8 at byte 3 of the line (0xFF)"));
  EXPECT_THAT(error(text + "ab\xE2\x82"), StartsWith("name:100: invalid UTF-8 at byte 3 of the"));
  EXPECT_THAT(error(text + "\xE2\x82\n"), StartsWith("name:100: invalid UTF-8 at byte 1 of the"));
  EXPECT_THAT(error("ok\n" + std::string(5000, 'x') + "\xC3\nline\n\xFE"),
              StartsWith("name:2: invalid UTF-8 at byte 5001 of the line (0xC3)"));
  EXPECT_EQ(error(""), "name: is empty");
}

TEST_F(LineIndexTest, ColumnsAreCountedAcrossBlocks) {
  std::string text;
  for (int i = 1; i < 100; ++i) text += "a long side\tb\n";
  EXPECT_EQ(index(text, 5, 2, 2), expected(text));
  EXPECT_EQ(error(text + "none\n" + text, 2),
            "name:100: a line without a tab, expected 2 columns with a tab between them");
  EXPECT_EQ(error(text + "a\tb\tc\nnone", 2),
            "name:100: 3 columns, expected 2 columns with a tab between them");
  EXPECT_EQ(error(text + "none", 2),
            "name:100: a line without a tab, expected 2 columns with a tab between them");
  EXPECT_THAT(error(text + "none\n\xFF\tb\n", 2), StartsWith("name:100: a line without a tab"));
  EXPECT_THAT(error(text + "\xFF\tb\nnone\n", 2), StartsWith("name:100: invalid UTF-8 at byte 1 "));
}

TEST(Offsets, KnowPlacesBeyondFourGibibytes) {
  const std::vector<uint64_t> places = {0,
                                        5,
                                        (uint64_t{1} << 32) - 1,
                                        uint64_t{1} << 32,
                                        (uint64_t{1} << 32) + 7,
                                        uint64_t{5} << 32,
                                        (uint64_t{5} << 32) + 1,
                                        uint64_t{7} << 40};
  Offsets offsets;
  for (const uint64_t place : places) offsets.push_back(place);
  ASSERT_EQ(offsets.size(), places.size());
  for (size_t i = 0; i < places.size(); ++i) EXPECT_EQ(offsets[i], places[i]) << i;
  EXPECT_EQ(offsets.back(), places.back());
}

}  // namespace
}  // namespace rapt

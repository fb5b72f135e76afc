#include "rapt/text/corpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <fstream>

#include "rapt/base/check.h"
#include "rapt/base/philox.h"

namespace rapt {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

class CorpusTest : public testing::Test {
 protected:
  CorpusTest() : folder_(fs::temp_directory_path() / concat("rapt_corpus-", ::getpid())) {
    fs::create_directories(folder_);
  }
  ~CorpusTest() override { fs::remove_all(folder_); }

  fs::path file(const char* name, std::string_view text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }
  fs::path gzip(const char* name, std::string_view text) const {
    const gzFile out = gzopen((folder_ / name).c_str(), "wb");
    gzwrite(out, text.data(), static_cast<unsigned>(text.size()));
    gzclose(out);
    return folder_ / name;
  }
  std::vector<std::string> lines(std::string_view text) const {
    const LineFile lines(file("lines", text));
    std::vector<std::string> all;
    for (uint64_t i = 0; i < lines.size(); ++i) all.push_back(lines.line(i));
    return all;
  }
  CorpusOptions cached() const { return {.cache = folder_ / "cache"}; }

  const fs::path folder_;
};

TEST_F(CorpusTest, FindsLinesByNumber) {
  EXPECT_THAT(lines("a\n\nß\n"), ElementsAre("a", "", "ß"));
  EXPECT_THAT(lines("a\nlast"), ElementsAre("a", "last"));
  EXPECT_THAT(lines("\n"), ElementsAre(""));
  EXPECT_THAT(lines("\xEF\xBB\xBFx\r\ny\rz\r\n"), ElementsAre("x", "y\rz"));
  EXPECT_THAT(lines("\xEF\xBB\xBF"), ElementsAre(""));
}

// Lines that end in a block, cross into the next one, and are longer than one; forward, which reads
// blocks, and by jumps, which read lines.
TEST_F(CorpusTest, ACursorGivesTheSameLinesInAnyOrder) {
  std::string text;
  for (size_t i = 0; i < 5000; ++i) {
    text += std::string(i % 61, 'x') + std::to_string(i) + (i % 7 == 0 ? "\r\n" : "\n");
    if (i % 1000 == 500) text += std::string(100'000, 'y') + "\n\n";
  }
  const LineFile lines(file("lines", text + "last"));
  LineFile::Cursor forward(lines), jumping(lines);
  for (uint64_t i = 0; i < lines.size(); ++i) {
    ASSERT_EQ(forward.line(i), lines.line(i)) << i;
    const uint64_t other = i * 1237 % lines.size();
    ASSERT_EQ(jumping.line(other), lines.line(other)) << other;
  }
  EXPECT_EQ(forward.line(0), lines.line(0));
  EXPECT_THROW(forward.line(lines.size()), InvalidArgument);
}

TEST_F(CorpusTest, ACursorGivesPairsOfOneFileAndOfTwo) {
  const auto tsv = ParallelCorpus::open({file("p.tsv", "a\tb\n\tc\r\nd\t\n")});
  const auto two = ParallelCorpus::open({file("p.a", "a\n\nd\n"), file("p.b", "b\nc\r\n\n")});
  for (const ParallelCorpus& corpus : {tsv, two}) {
    ParallelCorpus::Cursor cursor(corpus);
    for (const uint64_t i : {0, 1, 2, 0}) {
      const auto [source, target] = cursor.pair(i);
      EXPECT_EQ(source, corpus.pair(i).source);
      EXPECT_EQ(target, corpus.pair(i).target);
    }
  }
}

// Blocks of the scan end inside lines and inside code points.
TEST_F(CorpusTest, LinesCrossTheBlocksOfTheScan) {
  std::string text;
  std::vector<std::string> expected;
  for (uint32_t i = 0; text.size() < (size_t{5} << 20); ++i) {
    std::string line;
    for (uint32_t k = philox({i, 0, 0, 0}, 2)[0] % (i % 50 == 0 ? 100000 : 300); k > 0; --k)
      line += "€";
    text += line + "\n";
    expected.push_back(line);
  }
  EXPECT_EQ(lines(text), expected);
}

TEST_F(CorpusTest, ErrorsNameFileAndLine) {
  EXPECT_THAT([&] { lines(""); }, ThrowsMessage<IoError>(HasSubstr("lines: is empty")));
  EXPECT_THAT([&] { LineFile(folder_ / "none"); },
              ThrowsMessage<IoError>(HasSubstr("No such file")));
  EXPECT_THAT(
      [&] { lines("ok\nab\xFFz\n"); },
      ThrowsMessage<IoError>(HasSubstr("lines:2: invalid UTF-8 at byte 3 of the line (0xFF)")));
  EXPECT_THAT(
      [&] { lines("ok\nabc\xE2\x82"); },
      ThrowsMessage<IoError>(HasSubstr("lines:2: invalid UTF-8 at byte 4 of the line (0xE2)")));
  const std::string far((size_t{1} << 20) - 1, 'x');
  EXPECT_THAT([&] { lines("1\n" + far + "\n\xE2\x82\n"); },
              ThrowsMessage<IoError>(HasSubstr("lines:3: invalid UTF-8 at byte 1 ")));
}

TEST_F(CorpusTest, AnyBytesAreLinesOrAnError) {
  constexpr std::string_view kBytes = "ab\n\r\t\xC3\xA4\xE2\x82\xAC\xFF";
  for (uint32_t i = 0; i < 300; ++i) {
    std::string text;
    for (uint32_t k = 0; k < 1 + i % 40; ++k)
      text += kBytes[philox({i, k, 0, 0}, 6)[0] % kBytes.size()];
    const fs::path path = file("any", text);
    try {
      const LineFile lines(path);
      size_t bytes = 0;
      for (uint64_t n = 0; n < lines.size(); ++n) bytes += lines.line(n).size();
      EXPECT_LE(bytes, text.size());
      EXPECT_EQ(lines.size(), std::count(text.begin(), text.end(), '\n') + (text.back() != '\n'));
    } catch (const IoError& error) {
      EXPECT_THAT(error.what(), HasSubstr("any:"));
    }
  }
}

TEST_F(CorpusTest, LongLinesAreKnown) {
  const LineFile lines(file("lines", "12345\n123456\n"), {.max_line_bytes = 5});
  EXPECT_FALSE(lines.too_long(0));
  EXPECT_TRUE(lines.too_long(1));
  EXPECT_THROW(lines.line(2), InvalidArgument);
}

TEST_F(CorpusTest, PairsOfTwoFilesAndOfTsvAreTheSame) {
  const auto two =
      ParallelCorpus::open({file("a.en", "one\n\nthree"), file("a.de", "eins\nzwei\n\n")});
  const auto tsv = ParallelCorpus::open({file("a.tsv", "one\teins\n\tzwei\nthree\t\n")});
  for (const ParallelCorpus& corpus : {two, tsv}) {
    ASSERT_EQ(corpus.size(), 3u);
    EXPECT_EQ(corpus.pair(0).source, "one");
    EXPECT_EQ(corpus.pair(0).target, "eins");
    EXPECT_EQ(corpus.pair(1).source, "");
    EXPECT_EQ(corpus.pair(1).target, "zwei");
    EXPECT_EQ(corpus.pair(2).source, "three");
    EXPECT_EQ(corpus.pair(2).target, "");
  }
  EXPECT_THAT(two.name(), AllOf(HasSubstr("a.en"), HasSubstr("a.de")));
}

TEST_F(CorpusTest, PairsThatDoNotMatchAreErrors) {
  const fs::path a = file("a", "1\n2\n3\n"), b = file("b", "1\n2\n");
  EXPECT_THAT(
      [&] {
        ParallelCorpus::open({a, b});
      },
      ThrowsMessage<IoError>(AllOf(HasSubstr("a has 3 lines"), HasSubstr("b has 2"))));
  EXPECT_THAT([&] { ParallelCorpus::open({file("t", "x\ty\nno tab\n")}); },
              ThrowsMessage<IoError>(HasSubstr("t:2: a line without a tab, expected 2 columns")));
  EXPECT_THAT([&] { ParallelCorpus::open({file("t", "x\ty\nx\ty\tz")}); },
              ThrowsMessage<IoError>(HasSubstr("t:2: 3 columns, expected 2")));
  EXPECT_THROW(ParallelCorpus::open({}), InvalidArgument);
  EXPECT_THROW(ParallelCorpus::open({a, a, a}), InvalidArgument);
}

TEST_F(CorpusTest, GzipIsUnpackedOnce) {
  const fs::path packed = gzip("train.tsv.gz", "one\teins\ntwo\tzwei\n");
  const fs::path copy = unpacked(packed, cached().cache);
  EXPECT_EQ(read_file(copy, 1000), "one\teins\ntwo\tzwei\n");
  const auto when = fs::last_write_time(copy);
  EXPECT_EQ(ParallelCorpus::open({packed}, cached()).pair(1).target, "zwei");
  EXPECT_EQ(fs::last_write_time(copy), when);
  gzip("train.tsv.gz", "other\tandere, und mehr\n");  // another state is another copy
  EXPECT_EQ(ParallelCorpus::open({packed}, cached()).pair(0).target, "andere, und mehr");
  EXPECT_EQ(unpacked(folder_ / "cache" / copy.filename()), copy);  // plain files are themselves
}

TEST_F(CorpusTest, DamagedGzipLeavesNoCopy) {
  std::string text;
  for (uint32_t i = 0; i < 20000; ++i) text += concat(philox({i, 0, 0, 0}, 1)[0], "\n");
  const fs::path packed = gzip("x.gz", text);
  const std::string bytes = read_file(packed, 1 << 20);
  const auto refuses = [&](const std::string& damaged) {
    const fs::path path = file("damaged.gz", damaged);
    EXPECT_THAT([&] { unpacked(path, cached().cache); },
                ThrowsMessage<IoError>(HasSubstr("damaged.gz: damaged gzip file")));
    EXPECT_TRUE(!fs::exists(cached().cache) || fs::is_empty(cached().cache));
  };
  refuses(bytes.substr(0, bytes.size() / 2));
  refuses(bytes.substr(0, bytes.size() - 4));
  std::string flipped = bytes;
  flipped[bytes.size() / 2] = static_cast<char>(~flipped[bytes.size() / 2]);
  refuses(flipped);
}

std::string whole(const TextStream& stream) {
  std::string text;
  for (uint64_t i = 0; i < stream.chunks(); ++i) {
    const TextStream::Chunk chunk = stream.chunk(i);
    text += chunk.text + (chunk.newline ? "\n" : "");
  }
  return text;
}

TEST_F(CorpusTest, StreamsGiveTheWholeText) {
  for (const char* text : {"a\n\nb\n", "a\nb", "\n", "no newline"}) {
    EXPECT_EQ(whole(TextStream(file("text", text))), text);
  }
}

TEST_F(CorpusTest, ACursorGivesTheSameChunksInAnyOrder) {
  std::string text;
  for (size_t i = 0; i < 3000; ++i) {
    text += std::string(i % 61, 'x') + std::to_string(i) + (i % 7 == 0 ? "\r\n" : "\n");
    if (i % 1000 == 500) text += std::string(100'000, 'y') + "\r\n\n";
  }
  const TextStream stream(file("text", text + "last\r"));
  TextStream::Cursor forward(stream, 0, stream.chunks()), jumping(stream, 0, stream.chunks());
  for (uint64_t i = 0; i < stream.chunks(); ++i) {
    for (const auto& [cursor, at] :
         {std::pair(&forward, i), std::pair(&jumping, i * 1237 % 2999)}) {
      const TextStream::Chunk expected = stream.chunk(at);
      const TextStream::Cursor::View found = cursor->chunk(at);
      ASSERT_EQ(found.text, expected.text) << at;
      ASSERT_EQ(found.newline, expected.newline) << at;
    }
  }
}

TEST_F(CorpusTest, StreamsCutEndlessLines) {
  std::string words, joined;
  while (words.size() < 200000) words += "word ";
  while (joined.size() < 200000) joined += "€";
  const std::string text = "first\n" + words + "\n" + joined + "\nlast\n";
  const TextStream stream(file("text", text));
  EXPECT_EQ(whole(stream), text);
  // A chunk holds 204 words or 341 signs: 1, 40000 / 204, 66667 / 341 and 1.
  ASSERT_EQ(stream.chunks(), 1u + 197 + 196 + 1);
  EXPECT_TRUE(stream.chunk(1).text.ends_with("word "));
  EXPECT_EQ(stream.line(0), 1u);
  EXPECT_EQ(stream.line(197), 2u);
  EXPECT_EQ(stream.line(198), 3u);
  EXPECT_EQ(stream.line(393), 3u);
  EXPECT_EQ(stream.line(394), 4u);
  for (uint64_t i = 0; i < stream.chunks(); ++i) {
    EXPECT_LE(stream.chunk(i).text.size(), TextStream::kMaxChunk);
  }
}

}  // namespace
}  // namespace rapt

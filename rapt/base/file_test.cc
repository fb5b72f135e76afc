#include "rapt/base/file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <vector>

#include "rapt/base/check.h"

namespace rapt {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using testing::ThrowsMessage;

class FileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "rapt_file_test.XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path file(std::string_view text) const {
    std::ofstream(folder_ / "file", std::ios::binary) << text;
    return folder_ / "file";
  }
  std::vector<std::string> lines(std::string_view text,
                                 size_t limit = LineReader::kDefaultLimit) const {
    LineReader reader(file(text), limit);
    std::vector<std::string> all;
    for (std::string line; reader.next(line);) all.push_back(reader.too_long() ? line + "|" : line);
    return all;
  }
  size_t entries() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), {}));
  }

  fs::path folder_;
};

TEST_F(FileTest, ReadsAnyPlaceAndNotPastTheEnd) {
  const InputFile input(file("0123456789"));
  EXPECT_EQ(input.size(), 10u);
  EXPECT_EQ(input.read_text(3, 4), "3456");
  EXPECT_EQ(input.read_text(10, 0), "");
  EXPECT_THAT([&] { input.read_text(8, 3); },
              ThrowsMessage<IoError>(HasSubstr("ends at byte 10, expected 1 bytes more")));
}

TEST_F(FileTest, ErrorsNameTheFileAndTheReason) {
  EXPECT_THAT(
      [&] { InputFile(folder_ / "none"); },
      ThrowsMessage<IoError>(AllOf(HasSubstr("none: cannot open"), HasSubstr("No such file"))));
  EXPECT_THAT([&] { InputFile{folder_}; },
              ThrowsMessage<IoError>(HasSubstr("not a regular file but a directory")));
  EXPECT_THROW(LineReader(folder_ / "none"), IoError);
  EXPECT_THAT([&] { read_file(file("12345"), 4); },
              ThrowsMessage<IoError>(HasSubstr("5 bytes, expected at most 4")));
  EXPECT_EQ(read_file(file("12345"), 5), "12345");
}

TEST_F(FileTest, LinesEndInEveryUsualWay) {
  EXPECT_THAT(lines(""), ElementsAre());
  EXPECT_THAT(lines("\n"), ElementsAre(""));
  EXPECT_THAT(lines("a\n\nb"), ElementsAre("a", "", "b"));
  EXPECT_THAT(lines("a\r\nb\rc\r\n"), ElementsAre("a", "b\rc"));
  EXPECT_THAT(lines("\xEF\xBB\xBFmark\n\xEF\xBB\xBFtext\n"),
              ElementsAre("mark", "\xEF\xBB\xBFtext"));
}

TEST_F(FileTest, LinesAreCutAtTheLimitAndTheNextIsWhole) {
  EXPECT_THAT(lines("1234\n12345\n123456\n1\n", 5), ElementsAre("1234", "12345", "12345|", "1"));
  EXPECT_THAT(lines("123ß\n1234ß\nx", 5), ElementsAre("123ß", "1234|", "x"));
  // Far over the limit and over the size of a read: memory must not follow the line.
  const std::string huge(1 << 20, 'x');
  EXPECT_THAT(lines(huge + "\nnew\n" + huge, 3), ElementsAre("xxx|", "new", "xxx|"));
}

TEST_F(FileTest, LineNumbersCountFromOne) {
  LineReader reader(file("a\nb\n"));
  std::string line;
  ASSERT_TRUE(reader.next(line) && reader.next(line));
  EXPECT_EQ(reader.line(), 2u);
  EXPECT_FALSE(reader.next(line));
}

TEST(LineReader, IsReadyOnlyWhenAWholeLineOrTheEndIsThere) {
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  LineReader reader(pipe[0], "stdin");
  std::string line;
  EXPECT_FALSE(reader.ready());
  ASSERT_EQ(::write(pipe[1], "a\nb", 3), 3);
  EXPECT_TRUE(reader.ready());
  ASSERT_TRUE(reader.next(line));
  EXPECT_EQ(line, "a");
  EXPECT_FALSE(reader.ready());  // half a line: next() would wait
  ASSERT_EQ(::write(pipe[1], "c\n", 2), 2);
  EXPECT_TRUE(reader.ready());
  ASSERT_TRUE(reader.next(line));
  EXPECT_EQ(line, "bc");
  ::close(pipe[1]);
  EXPECT_TRUE(reader.ready());
  EXPECT_FALSE(reader.next(line));
  ::close(pipe[0]);
}

TEST_F(FileTest, ReplacesWholeOrNotAtAll) {
  const fs::path path = file("old");
  {
    AtomicFile unfinished(path);
    unfinished.write("new");
  }
  EXPECT_EQ(read_file(path, 100), "old");
  EXPECT_EQ(entries(), 1u);
  write_file(path, "new");
  EXPECT_EQ(read_file(path, 100), "new");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(FileTest, WritesPiecesOfEverySizeInOrder) {
  std::string expected;
  AtomicFile output(folder_ / "out");
  for (size_t size : {0, 1, 1000, 300000, 5, 262144, 262143, 2, 1048577}) {
    expected += std::string(size, static_cast<char>('a' + size % 23));
    output.write(std::string_view(expected).substr(expected.size() - size));
  }
  output.commit();
  EXPECT_EQ(read_file(folder_ / "out", 1 << 22), expected);
}

// A limit on file sizes stands for the full disk: write() fails after some bytes went through.
TEST_F(FileTest, AFullDiskLeavesTheOldFileWhole) {
  const fs::path path = file("old");
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small = {1 << 16, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_THAT([&] { write_file(path, std::string(1 << 20, 'x')); },
              ThrowsMessage<IoError>(HasSubstr("cannot write")));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(read_file(path, 100), "old");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(FileTest, WritesToDevicesWithoutReplacingThem) {
  EXPECT_THAT([] { write_file("/dev/full", "x"); },
              ThrowsMessage<IoError>(AllOf(StartsWith("/dev/full"), HasSubstr("No space"))));
  struct stat status {};
  ASSERT_EQ(::stat("/dev/full", &status), 0);
  EXPECT_TRUE(S_ISCHR(status.st_mode));
  EXPECT_NO_THROW(write_file("/dev/null", "x"));
}

TEST_F(FileTest, CannotWriteIntoAMissingFolder) {
  EXPECT_THAT([&] { write_file(folder_ / "no" / "file", "x"); },
              ThrowsMessage<IoError>(HasSubstr("No such file")));
}

}  // namespace
}  // namespace rapt

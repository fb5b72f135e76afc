#include "rapt/io/atomic_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "rapt/base/check.h"

namespace rapt {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

class AtomicDirectoryTest : public testing::Test {
 protected:
  AtomicDirectoryTest()
      : root_(fs::temp_directory_path() / ("rapt_directory_test-" + std::to_string(::getpid()))) {}
  ~AtomicDirectoryTest() override { fs::remove_all(root_); }
  void make(const char* text) const {
    AtomicDirectory directory(root_ / "model");
    write_file(directory.staged() / "file", text);
    fs::create_directory(directory.staged() / "inner");
    write_file(directory.staged() / "inner" / "file", text);
    directory.commit();
  }
  std::string content() const { return read_file(root_ / "model" / "inner" / "file", 100); }
  size_t entries() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(root_), {}));
  }

  const fs::path root_;
};

TEST_F(AtomicDirectoryTest, AppearsAndIsReplacedWhole) {
  make("first");
  EXPECT_EQ(content(), "first");
  write_file(root_ / "model" / "extra", "x");
  make("second");
  EXPECT_EQ(content(), "second");
  EXPECT_FALSE(fs::exists(root_ / "model" / "extra"));
  EXPECT_EQ(entries(), 1u);
}

TEST_F(AtomicDirectoryTest, WithoutCommitTheOldOneStays) {
  make("first");
  {
    AtomicDirectory directory(root_ / "model");
    write_file(directory.staged() / "file", "second");
  }
  EXPECT_EQ(content(), "first");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(AtomicDirectoryTest, WhatAKilledProcessLeftIsNotMixedIn) {
  fs::create_directories(root_ / "model.tmp");
  write_file(root_ / "model.tmp" / "stale", "x");
  make("first");
  EXPECT_FALSE(fs::exists(root_ / "model" / "stale"));
  fs::create_directories(root_ / "step-7.tmp" / "inner");
  remove_staged(root_);
  EXPECT_EQ(entries(), 1u);
  EXPECT_EQ(content(), "first");
  EXPECT_NO_THROW(remove_staged(root_ / "none"));
}

TEST_F(AtomicDirectoryTest, ASlashAtTheEndMeansTheSame) {
  AtomicDirectory directory(root_ / "model" / "");
  EXPECT_EQ(directory.staged(), root_ / "model.tmp");
}

TEST_F(AtomicDirectoryTest, ErrorsNameTheDirectory) {
  fs::create_directories(root_);
  write_file(root_ / "model", "a file");
  EXPECT_THAT([&] { make("x"); }, ThrowsMessage<IoError>(HasSubstr("model: cannot rename")));
  EXPECT_EQ(entries(), 1u);
  EXPECT_THAT([&] { AtomicDirectory(root_ / "model" / "inner"); },
              ThrowsMessage<IoError>(HasSubstr("inner.tmp: cannot make the directory")));
}

}  // namespace
}  // namespace rapt

#include "rapt/train/metrics_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rapt/base/check.h"

namespace rapt {
namespace {

class MetricsLogTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string text() const { return read_file(path(), 1 << 20); }
  fs::path path() const { return folder_ / "metrics.jsonl"; }
  fs::path folder_;
};

Json line(uint64_t step, double seconds) {
  return {{"kind", "train"}, {"step", step}, {"seconds", seconds}};
}

TEST_F(MetricsLogTest, WritesOneObjectALine) {
  MetricsLog log(path(), 0);
  log.append(line(1, 0.5));
  log.append(line(2, 1));
  EXPECT_EQ(text(),
            "{\"kind\":\"train\",\"step\":1,\"seconds\":0.5}\n"
            "{\"kind\":\"train\",\"step\":2,\"seconds\":1.0}\n");
}

TEST_F(MetricsLogTest, AResumeDropsLaterLinesAndKnowsTheTime) {
  MetricsLog log(path(), 0);
  for (uint64_t step = 1; step <= 5; ++step) log.append(line(step, 10.0 * step));
  MetricsLog resumed(path(), 3);
  EXPECT_EQ(resumed.seconds(), 30);
  resumed.append(line(4, 77));
  EXPECT_THAT(text(), testing::EndsWith("{\"kind\":\"train\",\"step\":3,\"seconds\":30.0}\n"
                                        "{\"kind\":\"train\",\"step\":4,\"seconds\":77.0}\n"));
}

TEST_F(MetricsLogTest, AnUnfinishedOrDamagedLineGoes) {
  for (const char* end : {"{\"kind\":\"train\",\"st", "not json\n", "{\"step\":\"x\"}\n", "\n"}) {
    write_file(path(), "{\"kind\":\"train\",\"step\":1,\"seconds\":2}\n" + std::string(end));
    MetricsLog log(path(), 3);
    EXPECT_EQ(text(), "{\"kind\":\"train\",\"step\":1,\"seconds\":2}\n") << end;
  }
}

TEST_F(MetricsLogTest, ANewRunBeginsANewFile) {
  MetricsLog(path(), 0).append(line(9, 1));
  MetricsLog log(path(), 0);
  EXPECT_FALSE(fs::exists(path()));
}

TEST_F(MetricsLogTest, ALineThatCannotBeWrittenIsAnError) {
  MetricsLog log(path(), 1);
  fs::create_symlink("/dev/full", path());
  EXPECT_THAT([&] { log.append(line(1, 1)); },
              testing::ThrowsMessage<IoError>(
                  testing::AllOf(testing::HasSubstr("metrics.jsonl: cannot add a line"),
                                 testing::HasSubstr("No space left"))));
}

}  // namespace
}  // namespace rapt

#include "rapt/train/averaging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rapt/base/check.h"

namespace rapt {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class AveragingTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path file(const char* name, std::vector<float> a, const char* tensor = "a") const {
    write_safetensors(folder_ / name, {{tensor, Tensor::of({a.size()}, a)},
                                       {"b", Tensor::of({1, 1}, std::vector<float>{a[0]})}});
    return folder_ / name;
  }
  fs::path folder_;
};

TEST_F(AveragingTest, IsTheMeanOfEachValue) {
  const std::vector<fs::path> files = {file("1", {1, -2}), file("2", {2, 0}), file("3", {6, 5})};
  const TensorMap average = average_weights(files);
  EXPECT_THAT(average.at("a").span(), ElementsAre(3, 1));
  EXPECT_EQ(average.at("b").shape(), (Shape{1, 1}));
  EXPECT_EQ(average.size(), 2u);
}

TEST_F(AveragingTest, SumsInDouble) {
  const std::vector<fs::path> files = {file("1", {1e8f}), file("2", {1}), file("3", {-1e8f})};
  EXPECT_THAT(average_weights(files).at("a").span(), ElementsAre(1.0f / 3));
}

TEST_F(AveragingTest, OfOneIsItself) {
  EXPECT_THAT(average_weights(std::vector{file("1", {0.1f, 7})}).at("a").span(),
              ElementsAre(0.1f, 7));
}

TEST_F(AveragingTest, RefusesWhatDoesNotFit) {
  const fs::path first = file("first", {1, 2});
  EXPECT_THAT(
      [&] {
        average_weights(std::vector{first, file("longer", {1, 2, 3})});
      },
      ThrowsMessage<IoError>(AllOf(HasSubstr("longer does not fit"), HasSubstr("first"),
                                   HasSubstr("F32 [3], expected F32 [2]"))));
  EXPECT_THAT(
      [&] {
        average_weights(std::vector{first, file("other", {1, 2}, "c")});
      },
      ThrowsMessage<IoError>(HasSubstr("a is missing")));
  EXPECT_THAT([&] { average_weights({}); }, ThrowsMessage<InvalidArgument>(HasSubstr("no check")));
}

}  // namespace
}  // namespace rapt

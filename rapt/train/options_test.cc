#include "rapt/train/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace rapt {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(TrainOptions, EveryFieldIsListedOnce) {
  std::set<std::string_view> seen;
  TrainOptions options;
  TrainOptions::fields(options, [&](std::string_view name, auto&, auto&&...) {
    EXPECT_TRUE(seen.insert(name).second) << name;
  });
  EXPECT_EQ(seen.size(), 28u);
}

TEST(TrainOptions, NamesWhatIsOutOfRange) {
  TrainOptions options;
  EXPECT_NO_THROW(options.validate());
  options.beta2 = 1;
  EXPECT_THAT([&] { options.validate(); },
              ThrowsMessage<InvalidArgument>(HasSubstr("beta2 is 1, expected 0 to")));
}

TEST(TrainOptions, RefusesWhatContradictsItself) {
  TrainOptions options;
  options.min_lr = 1;
  EXPECT_THAT([&] { options.validate(); },
              ThrowsMessage<InvalidArgument>(HasSubstr("min_lr is 1")));
  options = {};
  options.metric = "rouge";
  EXPECT_THAT([&] { options.validate(); }, ThrowsMessage<InvalidArgument>(HasSubstr("rouge")));
  options = {};
  options.patience = 2;
  EXPECT_THAT([&] { options.validate(); }, ThrowsMessage<InvalidArgument>(HasSubstr("patience")));
}

TEST(TrainOptions, TenEpochsUnlessALimitIsGiven) {
  TrainOptions options;
  EXPECT_EQ(options.last_epoch(), 10u);
  options.steps = 5;
  EXPECT_EQ(options.last_epoch(), 0u);
  options.epochs = 3;
  EXPECT_EQ(options.last_epoch(), 3u);
}

}  // namespace
}  // namespace rapt

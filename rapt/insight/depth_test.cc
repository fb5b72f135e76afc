#include "rapt/insight/depth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "rapt/insight/experiment_test.h"

namespace rapt::insight {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

DepthOptions tiny() {
  DepthOptions o;
  o.training.symbols = 4;
  o.training.length = 3;
  o.training.d_model = 16;
  o.training.heads = 2;
  o.training.d_ff = 16;
  o.training.steps = 60;
  o.training.warmup_steps = 5;
  o.training.lr = 0.01;
  o.depths = "1,2";
  o.residuals = "none,post,deepnorm";
  return o;
}

TEST(Depth, TrainsEveryKindAtEveryDepth) {
  const Measured m(depth, tiny());
  EXPECT_NEAR(m["chance"], std::log(4.0), 1e-12);
  EXPECT_EQ(m.result.figure.panels.size(), 2u);
  EXPECT_EQ(m.result.tables[0].rows.size(), 6u);
  for (const char* key : {"loss_post_1", "loss_deepnorm_1", "loss_post_2", "loss_deepnorm_2"}) {
    EXPECT_LT(m[key], 0.5 * m["chance"]) << key;
  }
  EXPECT_EQ(m["deepest_post"], 2);
  EXPECT_EQ(m.result.verdict, Verdict::kHolds);
}

TEST(Depth, RefusesListsThatItCannotRead) {
  Pool pool(1);
  const auto with = [&](const char* depths, const char* residuals) {
    DepthOptions o = tiny();
    o.depths = depths;
    o.residuals = residuals;
    depth(o, {pool});
  };
  for (const char* depths : {"", "6,", "0", "6,x", "-3", "1001", "99999999999999999999999"}) {
    EXPECT_THAT([&] { with(depths, "post"); },
                ThrowsMessage<InvalidArgument>(HasSubstr("--depths is '")));
  }
  EXPECT_THAT([&] { with("1", "post,sideways"); },
              ThrowsMessage<InvalidArgument>(HasSubstr("--residuals is 'sideways'")));
  EXPECT_THAT([&] { with("1", "pre"); },
              ThrowsMessage<InvalidArgument>(HasSubstr("expected post among them")));
}

}  // namespace
}  // namespace rapt::insight

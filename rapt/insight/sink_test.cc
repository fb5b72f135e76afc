#include "rapt/insight/sink.h"

#include <gtest/gtest.h>

#include <cmath>

#include "rapt/insight/experiment_test.h"

namespace rapt::insight {
namespace {

TEST(Sink, SmallModelsWithoutAndWith) {
  SinkOptions o;
  o.layers = 1;
  o.probe_sentences = 8;
  o.training.steps = 30;
  const Measured m(sink, o);
  EXPECT_NEAR(m["sink_without"], 0, 1e-6);
  EXPECT_GT(m["sink_with"], 0.01);
  // Queries 2 … n of a causal model see 2 … n keys.
  double share = 0;
  for (size_t keys = 2; keys <= o.training.length; ++keys) share += 1 / static_cast<double>(keys);
  EXPECT_NEAR(m["even_share_without"], share / static_cast<double>(o.training.length - 1), 1e-12);
  EXPECT_TRUE(std::isfinite(m["loss_with"]));
}

}  // namespace
}  // namespace rapt::insight

#include "rapt/metrics/metric.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <set>

#include "rapt/base/check.h"
#include "rapt/base/random.h"
#include "rapt/metrics/bleu.h"
#include "rapt/metrics/chrf.h"
#include "rapt/metrics/error_rate.h"
#include "rapt/metrics/perplexity.h"

namespace rapt::metrics {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

const Lines kHypotheses = {"a b c d e", "f g h i", "j k l m n o"};
const References kReferences = {{"a b c d e"}, {"f g x i"}, {"j k l m n p q"}};

TEST(Metric, NamesAreThoseOfTheCommandLine) {
  for (const char* name :
       {"loss", "perplexity", "bleu", "chrf", "chrf++", "wer", "per", "cer", "accuracy"}) {
    EXPECT_EQ(find_metric(name).name, name);
  }
  std::set<std::string_view> names;
  for (const Metric& m : all_metrics()) EXPECT_TRUE(names.insert(m.name).second) << m.name;
  EXPECT_THAT(
      [] { find_metric("blue"); },
      ThrowsMessage<InvalidArgument>(HasSubstr("'blue', expected one of loss, perplexity")));
}

TEST(Metric, ComputesWhatItsNameSays) {
  const auto compute = [](const char* name) {
    return find_metric(name).compute(kHypotheses, kReferences);
  };
  EXPECT_EQ(compute("bleu"), bleu(kHypotheses, kReferences).score);
  EXPECT_EQ(compute("chrf"), chrf(kHypotheses, kReferences));
  EXPECT_EQ(compute("chrf++"), chrf(kHypotheses, kReferences, {.word_order = 2}));
  EXPECT_EQ(compute("wer"), wer(kHypotheses, kReferences));
  EXPECT_EQ(compute("per"), per(kHypotheses, kReferences));
  EXPECT_EQ(compute("cer"), cer(kHypotheses, kReferences));
  EXPECT_EQ(compute("accuracy"), accuracy(kHypotheses, kReferences));
  EXPECT_EQ(find_metric("loss").from_loss(2.5), 2.5);
  EXPECT_NEAR(find_metric("perplexity").from_loss(2.5), std::exp(2.5), 1e-14);
}

TEST(Metric, IsOfTheLossOrOfDecodedLines) {
  for (const Metric& m : all_metrics()) {
    EXPECT_EQ(m.from_loss == nullptr, m.needs_decoding()) << m.name;
    EXPECT_EQ(m.score != nullptr, m.needs_decoding()) << m.name;
    if (m.needs_decoding()) continue;
    EXPECT_THROW(m.compute(kHypotheses, kReferences), InvalidArgument) << m.name;
  }
}

TEST(Metric, KnowsWhatIsBetter) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const char* name : {"bleu", "chrf", "chrf++", "accuracy"}) {
    EXPECT_TRUE(find_metric(name).better(2, 1)) << name;
    EXPECT_FALSE(find_metric(name).better(1, 2)) << name;
  }
  for (const char* name : {"loss", "perplexity", "wer", "per", "cer"}) {
    EXPECT_TRUE(find_metric(name).better(1, 2)) << name;
    EXPECT_FALSE(find_metric(name).better(2, 1)) << name;
  }
  for (const Metric& m : all_metrics()) {
    EXPECT_FALSE(m.better(1, 1)) << m.name;
    EXPECT_TRUE(m.better(1, nan)) << m.name;
    EXPECT_FALSE(m.better(nan, 1)) << m.name;
    EXPECT_FALSE(m.better(nan, nan)) << m.name;
  }
}

TEST(Perplexity, IsTheExponentOfTheLoss) {
  EXPECT_EQ(loss_per_token(-12, 4), 3);
  EXPECT_EQ(perplexity(0), 1);
  EXPECT_NEAR(perplexity(loss_per_token(-3 * std::log(50.0), 3)), 50, 1e-12);  // uniform over 50
  EXPECT_THROW(loss_per_token(-1, 0), InvalidArgument);
}

// Lines right with probability 0.7, decided by the keyed uniform sequence.
Statistics coins(size_t lines) {
  Statistics s(2);
  for (size_t i = 0; i < lines; ++i) {
    const std::span<int64_t> counts = s.add_line();
    counts[0] = uniform(11, uint64_t{i}) < 0.7 ? 1 : 0;
    counts[1] = 1;
  }
  return s;
}

TEST(Bootstrap, IntervalOfAShareIsThatOfTheBinomial) {
  const size_t n = 2000;
  const Statistics s = coins(n);
  const Estimate e = bootstrap(s, error_rate_of, 5);
  EXPECT_EQ(e.value, error_rate_of(s.total()));
  // The normal approximation, 1.96 standard errors to each side; the ends themselves vary by about
  // 3 % of the width with 1000 resamples.
  const double p = e.value / 100, half = 196 * std::sqrt(p * (1 - p) / static_cast<double>(n));
  EXPECT_NEAR(e.low, e.value - half, 0.25 * half);
  EXPECT_NEAR(e.high, e.value + half, 0.25 * half);
}

TEST(Bootstrap, DependsOnTheSeedAlone) {
  const Statistics s = coins(300);
  const Estimate a = bootstrap(s, error_rate_of, 1), b = bootstrap(s, error_rate_of, 1);
  EXPECT_EQ(a.low, b.low);
  EXPECT_EQ(a.high, b.high);
  EXPECT_NE(bootstrap(s, error_rate_of, 2, 50).low, bootstrap(s, error_rate_of, 3, 50).low);
}

TEST(Bootstrap, NoDoubtWhereEveryLineIsAlike) {
  const Lines lines(50, "a b c d e f");
  const References references(50, Lines{"a b c d e f"});
  for (const char* name : {"bleu", "chrf", "accuracy"}) {
    const Estimate e = find_metric(name).estimate(lines, references);
    EXPECT_NEAR(e.value, 100, 1e-9) << name;
    EXPECT_EQ(e.low, e.value) << name;
    EXPECT_EQ(e.high, e.value) << name;
  }
}

TEST(Bootstrap, HoldsTheValue) {
  for (const char* name : {"bleu", "chrf", "wer", "per", "cer"}) {
    const Estimate e = find_metric(name).estimate(kHypotheses, kReferences, 9);
    EXPECT_LE(e.low, e.value) << name;
    EXPECT_GE(e.high, e.value) << name;
    EXPECT_LT(e.low, e.high) << name;
  }
}

TEST(Bootstrap, RefusesNoResamples) {
  EXPECT_THROW(bootstrap(coins(3), error_rate_of, 0, 0), InvalidArgument);
}

}  // namespace
}  // namespace rapt::metrics

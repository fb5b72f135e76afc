#include "rapt/base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

namespace rapt {
namespace {

constexpr uint64_t kKey = 0x0123456789abcdef;
constexpr size_t kSamples = 100000;

std::vector<double> draw(const std::function<double(uint64_t)>& f) {
  std::vector<double> x(kSamples);
  for (size_t i = 0; i < x.size(); ++i) x[i] = f(i);
  return x;
}

double moment(const std::vector<double>& x, int power) {
  double sum = 0;
  for (const double v : x) sum += std::pow(v, power);
  return sum / static_cast<double>(x.size());
}

// The largest distance between the distribution of the sample and `cdf` (Kolmogorov, Smirnov).
double distance(std::vector<double> x, const std::function<double(double)>& cdf) {
  std::sort(x.begin(), x.end());
  const double n = static_cast<double>(x.size());
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double p = cdf(x[i]), below = static_cast<double>(i) / n;
    worst = std::max({worst, p - below, below + 1 / n - p});
  }
  return worst;
}

const double kLimit = 1.95 / std::sqrt(static_cast<double>(kSamples));  // exceeded once in 1000

double correlation_of_neighbours(const std::vector<double>& x, double mean, double variance) {
  double sum = 0;
  for (size_t i = 0; i + 1 < x.size(); ++i) sum += (x[i] - mean) * (x[i + 1] - mean);
  return sum / (variance * static_cast<double>(x.size() - 1));
}

TEST(Random, UnitIntervalIsOpen) {
  EXPECT_EQ(unit_interval(0, 0), 0x1p-53);
  EXPECT_EQ(unit_interval(0xffffffff, 0xffffffff), 1 - 0x1p-53);
  EXPECT_EQ(unit_interval(0x80000000, 0), 0.5 + 0x1p-53);
}

TEST(Random, UniformIsPhilox) {
  // The published vector of a zero key and counter: 6627e8d5 e169c58d bc57ac4c 9b00dbd8.
  EXPECT_EQ(uniform(0, uint64_t{0}), unit_interval(0x6627e8d5, 0xe169c58d));
  EXPECT_EQ(uniform(0, uint64_t{1}), unit_interval(0xbc57ac4c, 0x9b00dbd8));
  EXPECT_EQ(uniform(0, PhiloxBlock{}), unit_interval(0x6627e8d5, 0xe169c58d));
}

TEST(Random, UniformHasItsDistribution) {
  const auto x = draw([](uint64_t i) { return uniform(kKey, i); });
  // Four standard errors of the mean (1/sqrt(12 n)) and of the mean square (2/sqrt(45 n)).
  EXPECT_NEAR(moment(x, 1), 1.0 / 2, 4 / std::sqrt(12.0 * kSamples));
  EXPECT_NEAR(moment(x, 2), 1.0 / 3, 4 * 2 / std::sqrt(45.0 * kSamples));
  EXPECT_LT(distance(x, [](double v) { return v; }), kLimit);
  EXPECT_NEAR(correlation_of_neighbours(x, 0.5, 1.0 / 12), 0, 4 / std::sqrt(1.0 * kSamples));
}

TEST(Random, NormalHasItsDistribution) {
  const auto x = draw([](uint64_t i) { return normal(kKey, i); });
  const double n = kSamples;
  EXPECT_NEAR(moment(x, 1), 0, 4 / std::sqrt(n));
  EXPECT_NEAR(moment(x, 2), 1, 4 * std::sqrt(2 / n));
  EXPECT_NEAR(moment(x, 3), 0, 4 * std::sqrt(15 / n));
  EXPECT_NEAR(moment(x, 4), 3, 4 * std::sqrt(96 / n));
  EXPECT_LT(distance(x, [](double v) { return std::erfc(-v / std::sqrt(2.0)) / 2; }), kLimit);
  EXPECT_NEAR(correlation_of_neighbours(x, 0, 1), 0, 4 / std::sqrt(n));
}

TEST(Random, AnotherKeyGivesAnotherSequence) {
  const auto x = draw([](uint64_t i) { return normal(kKey, i); });
  const auto y = draw([](uint64_t i) { return normal(kKey + 1, i); });
  double product = 0;
  for (size_t i = 0; i < kSamples; ++i) product += x[i] * y[i];
  EXPECT_NEAR(product / kSamples, 0, 4 / std::sqrt(1.0 * kSamples));
}

TEST(Random, FillsAreTheSequenceAndMayComeInPieces) {
  for (const size_t size : {0, 1, 2, 7, 64}) {
    std::vector<float> whole(size), pieces(size);
    fill_normal(whole, kKey, 0.5, 0.02);
    for (size_t i = 0; i < size; ++i) {
      EXPECT_EQ(whole[i], static_cast<float>(std::fma(0.02, normal(kKey, i), 0.5)));
    }
    for (size_t cut = 0; cut <= size; ++cut) {
      const std::span<float> p(pieces);
      fill_normal(p.first(cut), kKey, 0.5, 0.02);
      fill_normal(p.subspan(cut), kKey, 0.5, 0.02, cut);
      EXPECT_EQ(whole, pieces) << cut << " of " << size;
    }
    std::vector<float> uniform_whole(size), uniform_pieces(size);
    fill_uniform(uniform_whole, kKey, -2, 3);
    for (size_t i = 0; i < size; ++i) fill_uniform({&uniform_pieces[i], 1}, kKey, -2, 3, i);
    EXPECT_EQ(uniform_whole, uniform_pieces);
  }
}

TEST(Random, XavierHasItsBoundAndVariance) {
  std::vector<float> w(kSamples);
  fill_xavier(w, kKey, 256, 128, 2);
  const double bound = 2 * std::sqrt(6.0 / 384);
  EXPECT_EQ(xavier_bound(256, 128, 2), bound);
  const auto [low, high] = std::minmax_element(w.begin(), w.end());
  EXPECT_GE(*low, static_cast<float>(-bound));
  EXPECT_LE(*high, static_cast<float>(bound));
  EXPECT_LT(*low, -0.999 * bound);
  EXPECT_GT(*high, 0.999 * bound);
  const std::vector<double> x(w.begin(), w.end());
  const double variance = bound * bound / 3;
  EXPECT_NEAR(moment(x, 2), variance, 4 * variance * 2 / std::sqrt(5.0 * kSamples));
}

}  // namespace
}  // namespace rapt

#include "rapt/plot/scale.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "rapt/base/check.h"

namespace rapt::plot {
namespace {

std::vector<double> values_of(const Scale& s) {
  std::vector<double> out;
  for (const Tick& t : s.ticks()) out.push_back(t.value);
  return out;
}

std::vector<std::string> labels_of(const Scale& s) {
  std::vector<std::string> out;
  for (const Tick& t : s.ticks()) out.push_back(t.label);
  return out;
}

// Rising, inside the range, told apart by their labels, neither too few nor too many.
void expect_sound(const Scale& s, size_t most) {
  const auto v = values_of(s);
  ASSERT_GE(v.size(), 2u);
  EXPECT_LE(v.size(), most + 2);
  const double slack = 1e-9 * (s.range().high - s.range().low);
  for (size_t i = 0; i < v.size(); ++i) {
    if (i > 0) {
      EXPECT_LT(v[i - 1], v[i]);
    }
    EXPECT_GE(v[i], s.range().low - slack);
    EXPECT_LE(v[i], s.range().high + slack);
    EXPECT_GE(s(v[i]), -1e-9);
    EXPECT_LE(s(v[i]), 1 + 1e-9);
  }
  const auto labels = labels_of(s);
  EXPECT_EQ(std::set<std::string>(labels.begin(), labels.end()).size(), labels.size());
}

TEST(Scale, TicksAreSoundForRangesOfEverySize) {
  for (int exponent = -12; exponent <= 12; ++exponent) {
    for (double low : {-1.0, -0.37, 0.0, 0.21, 3.3}) {
      for (double length : {0.013, 0.5, 1.0, 7.7}) {
        const double unit = std::pow(10, exponent);
        for (size_t most : {3, 5, 10}) {
          SCOPED_TRACE(testing::Message() << low * unit << " + " << length * unit);
          const Range range = {low * unit, (low + length) * unit};
          const Scale s({}, range, most);
          expect_sound(s, most);
          EXPECT_LE(s.range().low, range.low + 1e-9 * length * unit);
          EXPECT_GE(s.range().high, range.high - 1e-9 * length * unit);
        }
      }
    }
  }
}

TEST(Scale, LogarithmicTicksAreSound) {
  for (double low : {1e-9, 0.03, 1.0, 700.0}) {
    for (double factor : {1.5, 8.0, 1e3, 1e10}) {
      for (size_t most : {3, 6, 10}) {
        SCOPED_TRACE(testing::Message() << low << " x " << factor);
        const Scale s({.logarithmic = true}, {low, low * factor}, most);
        expect_sound(s, most);
      }
    }
  }
}

TEST(Scale, ShortLogarithmicAxesHaveLinearTicks) {
  expect_sound(Scale({.logarithmic = true, .range = Range{3, 4}}, {}, 5), 5);
}

TEST(Scale, TicksAreRoundNumbers) {
  EXPECT_EQ(values_of(Scale({}, {0, 1}, 5)), (std::vector<double>{0, 0.2, 0.4, 0.6, 0.8, 1}));
  EXPECT_EQ(labels_of(Scale({}, {0, 1}, 5)),
            (std::vector<std::string>{"0.0", "0.2", "0.4", "0.6", "0.8", "1.0"}));
  EXPECT_EQ(values_of(Scale({}, {0, 0.93}, 10))[3], 0.3);  // not 0.30000000000000004
  EXPECT_EQ(labels_of(Scale({}, {0, 130000}, 3)),
            (std::vector<std::string>{"0", "50k", "100k", "150k"}));
  EXPECT_EQ(labels_of(Scale({.logarithmic = true}, {1, 20000}, 6)),
            (std::vector<std::string>{"1", "10", "100", "1000", "10k"}));
  EXPECT_EQ(labels_of(Scale({.logarithmic = true}, {1, 10}, 6)),
            (std::vector<std::string>{"1", "2", "5", "10"}));
}

TEST(Scale, PlacesValues) {
  const Scale linear({.range = Range{10, 20}}, {}, 5);
  EXPECT_DOUBLE_EQ(linear(10), 0);
  EXPECT_DOUBLE_EQ(linear(15), 0.5);
  EXPECT_DOUBLE_EQ(linear(25), 1.5);
  const Scale logarithmic({.logarithmic = true, .range = Range{1, 100}}, {}, 5);
  EXPECT_NEAR(logarithmic(10), 0.5, 1e-12);
  EXPECT_TRUE(std::isnan(logarithmic(0)));
  EXPECT_TRUE(std::isnan(logarithmic(-1)));
  EXPECT_TRUE(std::isnan(linear(NAN)));
  EXPECT_TRUE(std::isnan(linear(INFINITY)));
}

TEST(Scale, RefusesAxesWithoutLength) {
  EXPECT_THROW(Scale({.range = Range{1, 1}}, {}, 5), InvalidArgument);
  EXPECT_THROW(Scale({.range = Range{0, INFINITY}}, {}, 5), InvalidArgument);
  EXPECT_THROW(Scale({.logarithmic = true, .range = Range{0, 1}}, {}, 5), InvalidArgument);
}

TEST(Format, SaysWhatMatters) {
  EXPECT_EQ(format_value(0.12345), "0.1235");
  EXPECT_EQ(format_value(-0.0), "0");
  EXPECT_EQ(format_short(123456), "123.5k");
  EXPECT_EQ(format_short(-2.5e7), "-25M");
  EXPECT_EQ(format_short(9.1), "9.1");
  EXPECT_EQ(std::stod(format_exactly(0.1 + 0.2)), 0.1 + 0.2);
}

}  // namespace
}  // namespace rapt::plot

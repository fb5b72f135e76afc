#include "rapt/plot/colour.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace rapt::plot {
namespace {

// Lightness of CIELAB: what is left in grey print.
double lightness(Rgb c) {
  const double y = luminance(c);
  return y > 0.008856 ? 116 * std::cbrt(y) - 16 : 903.3 * y;
}

TEST(Colour, ScaleChangesLightnessEvenlySoThatGreyPrintReads) {
  for (const bool dark : {false, true}) {
    const double span =
        lightness(level_colour(kLevels - 1, dark)) - lightness(level_colour(0, dark));
    EXPECT_EQ(span > 0, dark);
    EXPECT_GT(std::fabs(span), 70);
    const double even = span / (kLevels - 1);
    for (size_t i = 1; i < kLevels; ++i) {
      const double step = lightness(level_colour(i, dark)) - lightness(level_colour(i - 1, dark));
      EXPECT_GT(step / even, 0.4) << i;
      EXPECT_LT(step / even, 1.8) << i;
    }
  }
}

TEST(Colour, LevelsSpanTheRange) {
  EXPECT_EQ(level_of(0, {0, 1}), 0u);
  EXPECT_EQ(level_of(1, {0, 1}), kLevels - 1);
  EXPECT_EQ(level_of(-5, {0, 1}), 0u);
  EXPECT_EQ(level_of(7, {0, 1}), kLevels - 1);
  EXPECT_EQ(level_of(1.5, {1, 2}), kLevels / 2);
}

TEST(Colour, SeriesStandOutFromTheGroundAndFromEachOther) {
  for (const bool dark : {false, true}) {
    const double ground = dark ? luminance({0x15, 0x17, 0x1c}) : 1;
    std::set<std::string> seen;
    for (size_t i = 0; i < kSeriesColours; ++i) {
      const double y = luminance(series_colour(i, dark));
      const double contrast = (std::max(y, ground) + 0.05) / (std::min(y, ground) + 0.05);
      EXPECT_GT(contrast, dark ? 4.5 : 2.0) << i;  // the brightest of the palette has 2.2 on white
      EXPECT_TRUE(seen.insert(hex(series_colour(i, dark))).second) << i;
    }
  }
}

TEST(Colour, IsWrittenInHex) { EXPECT_EQ(hex({0x1a, 0x02, 0xff}), "#1a02ff"); }

}  // namespace
}  // namespace rapt::plot

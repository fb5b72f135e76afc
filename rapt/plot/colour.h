// Colours that survive colour blindness and grey print: the scale of heat maps changes lightness
// evenly from end to end, in the perceptual space OKLab (Ottosson, 2020), while its hue runs from
// yellow-green through teal to indigo. On dark ground it runs the other way, so that a small value
// is always near the ground. Lines and bars take the palette of Okabe and Ito (2008).
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "rapt/plot/figure.h"

namespace rapt::plot {

struct Rgb {
  uint8_t red, green, blue;
};

inline constexpr size_t kLevels = 64;  // steps of the scale: more cannot be told apart

// The colour of a level < kLevels, on light or on dark ground.
Rgb level_colour(size_t level, bool dark);

// The level of a finite value; values outside the range take the nearest end.
size_t level_of(double value, Range range);

inline constexpr size_t kSeriesColours = 7;
Rgb series_colour(size_t series, bool dark);  // repeats after kSeriesColours

std::string hex(Rgb colour);   // "#1a2b3c"
double luminance(Rgb colour);  // relative luminance of sRGB, 0 … 1

}  // namespace rapt::plot

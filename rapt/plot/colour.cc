#include "rapt/plot/colour.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "rapt/base/scalar_math.h"

namespace rapt::plot {
namespace {

struct Lch {
  double lightness, chroma, hue;  // hue in degrees
};

double srgb_from_linear(double v) {
  v = std::clamp(v, 0.0, 1.0);
  return v <= 0.0031308 ? 12.92 * v : 1.055 * scalar::pow(v, 1 / 2.4) - 0.055;
}

double linear_from_srgb(uint8_t byte) {
  const double v = byte / 255.0;
  return v <= 0.04045 ? v / 12.92 : scalar::pow((v + 0.055) / 1.055, 2.4);
}

// The matrices are those of Ottosson's definition.
Rgb rgb(Lch c) {
  const double angle = c.hue * (scalar::kPi / 180);
  const double a = c.chroma * scalar::cos(angle), b = c.chroma * scalar::sin(angle);
  const auto cube = [](double v) { return v * v * v; };
  const double l = cube(c.lightness + 0.3963377774 * a + 0.2158037573 * b);
  const double m = cube(c.lightness - 0.1055613458 * a - 0.0638541728 * b);
  const double s = cube(c.lightness - 0.0894841775 * a - 1.2914855480 * b);
  const auto byte = [](double linear) {
    return static_cast<uint8_t>(srgb_from_linear(linear) * 255 + 0.5);
  };
  return {byte(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
          byte(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
          byte(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s)};
}

// From small to great values on light ground, at equal distances.
constexpr std::array<Lch, 5> kAnchors = {{{0.985, 0.015, 120},
                                          {0.84, 0.085, 165},
                                          {0.67, 0.11, 215},
                                          {0.47, 0.14, 262},
                                          {0.26, 0.08, 280}}};

}  // namespace

Rgb level_colour(size_t level, bool dark) {
  double t = static_cast<double>(level) / static_cast<double>(kLevels - 1);
  if (dark) t = 1 - t;
  const double place = t * static_cast<double>(kAnchors.size() - 1);
  const size_t i = std::min(static_cast<size_t>(place), kAnchors.size() - 2);
  const double f = place - static_cast<double>(i);
  const auto mix = [f](double a, double b) { return a + (b - a) * f; };
  const Lch from = kAnchors[i], to = kAnchors[i + 1];
  // Lightness goes straight from end to end, whatever the anchors between them say of hue.
  const double lightness =
      kAnchors.front().lightness + (kAnchors.back().lightness - kAnchors.front().lightness) * t;
  return rgb({lightness, mix(from.chroma, to.chroma), mix(from.hue, to.hue)});
}

size_t level_of(double value, Range range) {
  const double t = (value - range.low) / (range.high - range.low);
  const double top = static_cast<double>(kLevels - 1);
  return static_cast<size_t>(std::clamp(t * top + 0.5, 0.0, top));
}

Rgb series_colour(size_t series, bool dark) {
  constexpr std::array<Rgb, kSeriesColours> kLight = {{{0, 114, 178},
                                                       {213, 94, 0},
                                                       {0, 158, 115},
                                                       {204, 121, 167},
                                                       {230, 159, 0},
                                                       {86, 180, 233},
                                                       {90, 90, 90}}};
  constexpr std::array<Rgb, kSeriesColours> kDark = {{{77, 170, 230},
                                                      {255, 138, 61},
                                                      {38, 199, 154},
                                                      {232, 160, 200},
                                                      {245, 190, 60},
                                                      {150, 210, 250},
                                                      {190, 190, 190}}};
  return (dark ? kDark : kLight)[series % kSeriesColours];
}

std::string hex(Rgb c) {
  char text[8];
  std::snprintf(text, sizeof text, "#%02x%02x%02x", c.red, c.green, c.blue);
  return text;
}

double luminance(Rgb c) {
  return 0.2126 * linear_from_srgb(c.red) + 0.7152 * linear_from_srgb(c.green) +
         0.0722 * linear_from_srgb(c.blue);
}

}  // namespace rapt::plot

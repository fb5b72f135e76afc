// The panels of a figure as lines of text that know their columns; text.cc puts them side by side.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "rapt/plot/colour.h"
#include "rapt/plot/figure.h"
#include "rapt/plot/text.h"

namespace rapt::plot {

struct TextLine {
  std::string text;  // may hold escape codes, which take no column
  size_t columns = 0;
};
class TextBlock {
 public:
  void add(std::string text);                  // without escape codes: measured
  void add(std::string text, size_t columns);  // with them: told
  void append(const TextBlock& below);
  size_t width() const { return width_; }
  const std::vector<TextLine>& lines() const { return lines_; }

 private:
  std::vector<TextLine> lines_;
  size_t width_ = 0;
};

TextBlock draw_text(const HeatMap& map, Range range, const TextOptions& options);
TextBlock draw_text(const Bars& bars, const TextOptions& options);
TextBlock draw_text(const LineChart& chart, const TextOptions& options);

// The shades and the values they stand for.
TextBlock shade_legend(Range range, const std::string& label, const TextOptions& options);

// "↓ query · → key", in any language, or less where an axis has no name.
std::string axes_note(const HeatMap& map);

std::string foreground(Rgb colour, std::string_view text);
std::string background(Rgb colour, std::string_view text);

}  // namespace rapt::plot

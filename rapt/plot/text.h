// A figure for the terminal, in Unicode: heat maps in shades, bars in eighths of a block, lines in
// Braille dots. Wide characters of East Asian scripts take the two columns that they need.
#pragma once
#include <cstddef>
#include <span>
#include <string>

#include "rapt/plot/figure.h"

namespace rapt::plot {

struct TextOptions {
  size_t width = 80;    // no line has more columns; at least 40 are taken
  bool colour = false;  // 24-bit colours by escape codes: for a terminal, not for a file
};

// Lines that end in '\n'. Throws InvalidArgument when labels and values do not fit together.
std::string to_text(const Figure& figure, const TextOptions& options = {});

// A line chart one row high, at most `width` columns: ▁▂▃▄▅▆▇█. Where there are more values than
// columns, each shows a mean. NaN is a blank.
std::string sparkline(std::span<const double> values, size_t width);

}  // namespace rapt::plot

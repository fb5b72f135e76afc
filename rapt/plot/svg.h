// A figure as one SVG file: self-contained, readable in grey print and by the colour-blind, light or
// dark as the reader's system is.
#pragma once
#include <string>

#include "rapt/plot/figure.h"

namespace rapt::plot {

enum class Theme { kAuto, kLight, kDark };  // auto: prefers-color-scheme

// `width` in pixels, from which the height follows; 0: as drawn. Throws InvalidArgument when labels
// and values do not fit together, or an axis has no length.
std::string to_svg(const Figure& figure, Theme theme = Theme::kAuto, double width = 0);

}  // namespace rapt::plot

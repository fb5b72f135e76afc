// A figure as one page that needs nothing else: the picture as SVG, and its data as JSON in a script
// element (id "figure-data") and in a table of CSV that can be opened below the picture.
#pragma once
#include <string>

#include "rapt/plot/figure.h"

namespace rapt::plot {

// Throws InvalidArgument when labels and values do not fit together.
std::string to_html(const Figure& figure);

}  // namespace rapt::plot

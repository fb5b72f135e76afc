// A figure as one page that needs nothing else: the picture as SVG, and its data as JSON in a script
// element (id "figure-data") and in a table of CSV that can be opened below the picture.
#pragma once
#include <string>
#include <vector>

#include "rapt/plot/figure.h"

namespace rapt::plot {

// Throws InvalidArgument when labels and values do not fit together.
std::string to_html(const Figure& figure);

// Several figures with words between them, each with its numbers as CSV to open below it.
struct Section {
  std::string heading;
  std::vector<std::string> paragraphs;
  Figure figure;
  bool marked = false;  // stands out: it calls for attention
};
struct Page {
  std::string title, language = "en";
  std::vector<std::string> paragraphs;
  std::vector<Section> sections;
  std::string data;  // JSON for programs, in a script element, id "page-data"
};
std::string to_html(const Page& page);

}  // namespace rapt::plot

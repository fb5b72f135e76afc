// The numbers of a figure for other programs. Values are written so that they read back exactly.
#pragma once
#include <string>

#include "rapt/plot/figure.h"

namespace rapt::plot {

// {"title", "caption", "panels": [{"kind": "heat_map" | "bars" | "lines", …}]}, the members named
// as in figure.h, the values of a heat map as an array of rows; NaN and infinities are null.
std::string to_json(const Figure& figure);

// One line a value, RFC 4180, with a header:
//   heat maps  panel,row,row_label,column,column_label,value   (row and column from 1)
//   bars       panel,category,series,value,low,high
//   lines      panel,series,x,y,low,high
// Panels of another kind follow after an empty line, under their own header. NaN is an empty field.
std::string to_csv(const Figure& figure);

// A JSON string with its quotes; invalid bytes become U+FFFD, and < is escaped so that it can stand
// inside a page.
std::string json_string(const std::string& text);

}  // namespace rapt::plot

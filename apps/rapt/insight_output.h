// Where a figure goes: vector graphics and data by rapt itself, PDF and PNG through rsvg-convert.
#pragma once
#include <string>

#include "rapt/io/json.h"
#include "rapt/plot/figure.h"

namespace rapt::app {

// Throws InvalidArgument unless `out` ends in a known extension and its folder is there, IoError
// where the extension needs rsvg-convert and it is not installed: before any work is done.
void check_figure_path(const std::string& out);

// As the extension says; the file appears whole or not at all. `width` in pixels, 0: natural.
void write_figure(const fs::path& out, const plot::Figure& figure, const Json& json, size_t width);

}  // namespace rapt::app

// A line of text whose output is given: "input<TAB>output", or the text of a decoder-only model.
#pragma once
#include <string>

#include "rapt/base/file.h"
#include "rapt/text/batches.h"

namespace rapt::app {

// `line` is what `reader` gave last; the example's id counts lines from 0. Throws IoError naming the
// place for a line that is not UTF-8, or has no tab or several.
Example read_example(const TextProcessor& text, const LineReader& reader, const std::string& line,
                     UnknownSymbols* unknown);

}  // namespace rapt::app

// Labels: made visible, measured and cut, for a terminal (columns) and for a picture (em).
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace rapt::plot {

// Columns of a terminal: 2 for East Asian wide characters, 0 for marks that combine.
size_t columns_of(char32_t code);
size_t columns_of(std::string_view text);

// Control characters and invalid bytes escaped, an empty or blank label as "␣".
std::string visible(std::string_view label);

// At most `columns` wide, the end replaced by "…" where needed.
std::string cut(std::string_view text, size_t columns);

// Filled up with spaces to `columns`; longer text is cut.
std::string pad_right(std::string_view text, size_t columns);  // text first
std::string pad_left(std::string_view text, size_t columns);   // spaces first
std::string centre(std::string_view text, size_t columns);

// The text `times` times.
std::string repeat(std::string_view text, size_t times);

// Width in em of a sans-serif font, rather too wide than too narrow (as DejaVu Sans).
double em_width(std::string_view text);

}  // namespace rapt::plot

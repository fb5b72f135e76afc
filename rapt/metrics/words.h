// Text as metrics see it: code points, words between white space, lower case. What counts as white
// space and how case folds is as in Python, which sacreBLEU is written in.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace rapt::metrics {

// An invalid byte becomes U+FFFD.
std::u32string code_points(std::string_view text);

// str.isspace() of one character.
bool is_space(char32_t c);

// str.split(): the runs without white space.
std::vector<std::string_view> split_words(std::string_view text);

// str.rstrip()
std::string_view strip_right(std::string_view text);

// str.lower(): the full mapping of Unicode, with the final sigma.
std::string lowercase(std::string_view text);

}  // namespace rapt::metrics

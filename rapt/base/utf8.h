// UTF-8 as Unicode defines it (Table 3-7 of the standard): no overlong forms, no surrogates,
// nothing above U+10FFFF. Text from outside is checked once, where it enters; all else relies on it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rapt {

struct CodePoint {
  char32_t value = 0;
  uint8_t size = 0;  // bytes, 1 … 4; 0: no valid code point starts here
};

CodePoint utf8_decode(std::string_view text, size_t at);         // at < text.size()
void utf8_append(std::string& text, char32_t code);              // code is a scalar value
size_t utf8_ascii_end(std::string_view text, size_t begin = 0);  // of the ASCII from `begin` on
size_t utf8_valid_prefix(std::string_view text);                 // == text.size() when all is valid
// Bytes of the longest prefix of valid text within `limit` that splits no code point.
size_t utf8_cut(std::string_view text, size_t limit);
// One view a code point; throws InvalidArgument for invalid text.
std::vector<std::string_view> utf8_split(std::string_view text);

// Throws IoError "FILE:LINE: invalid UTF-8 at byte B (0xXX); …"; the line counts from 1, the byte
// from 1 within the line. `line` 0 leaves the line out.
void check_utf8(std::string_view text, std::string_view file, uint64_t line);

// Text with each invalid sequence replaced by U+FFFD.
std::string utf8_repaired(std::string_view text);
// For messages and axes: control characters, invalid bytes and the like as \n, \t, \x1B, \u200B, at
// most `limit` bytes, then "…". Nothing from a file can steer a terminal.
std::string printable(std::string_view text, size_t limit = 200);
std::string code_name(char32_t code);  // "U+00DF"

}  // namespace rapt

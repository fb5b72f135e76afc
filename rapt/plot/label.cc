#include "rapt/plot/label.h"

#include <algorithm>
#include <array>

#include "rapt/base/utf8.h"

namespace rapt::plot {
namespace {

struct Block {
  char32_t first, last;
};

// East_Asian_Width W and F, by blocks rather than by character.
constexpr std::array<Block, 22> kWide = {
    {{0x1100, 0x115F},   {0x231A, 0x231B},  {0x23E9, 0x23EC},   {0x25FD, 0x25FE},
     {0x2614, 0x2615},   {0x26AA, 0x26AB},  {0x2705, 0x2705},   {0x274C, 0x274C},
     {0x2E80, 0x303E},   {0x3041, 0x33FF},  {0x3400, 0x4DBF},   {0x4E00, 0xA4CF},
     {0xA960, 0xA97F},   {0xAC00, 0xD7A3},  {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},
     {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},  {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF},
     {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}}};

// Combining marks, joiners, variation selectors, and the vowels and finals of decomposed Hangul.
constexpr std::array<Block, 20> kZero = {
    {{0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x0610, 0x061A}, {0x064B, 0x065F},
     {0x06D6, 0x06DC}, {0x093C, 0x093C}, {0x0941, 0x0948}, {0x0E31, 0x0E31}, {0x0E34, 0x0E3A},
     {0x0E47, 0x0E4E}, {0x1160, 0x11FF}, {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x200B, 0x200F},
     {0x20D0, 0x20FF}, {0x302A, 0x302D}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xE0100, 0xE01EF}}};

template <size_t N>
bool is_in(const std::array<Block, N>& blocks, char32_t code) {
  return std::any_of(blocks.begin(), blocks.end(),
                     [&](Block b) { return code >= b.first && code <= b.last; });
}

// Calls f(code point, bytes) for each; an invalid byte counts as U+FFFD.
template <class F>
void for_each_code(std::string_view text, const F& f) {
  for (size_t at = 0; at < text.size();) {
    CodePoint c = utf8_decode(text, at);
    if (c.size == 0) c = {0xFFFD, 1};
    f(c.value, text.substr(at, c.size));
    at += c.size;
  }
}

double em_of(char32_t code) {
  if (code >= 0x80) return columns_of(code) == 2 ? 1.0 : columns_of(code) == 0 ? 0.0 : 0.68;
  constexpr std::string_view kNarrow = "ijl|!'.,:;I[]()ft/\\ ", kBroad = "mwMW%@";
  const char c = static_cast<char>(code);
  if (kNarrow.find(c) != std::string_view::npos) return 0.40;
  if (kBroad.find(c) != std::string_view::npos) return 1.0;
  if (c >= 'A' && c <= 'Z') return 0.76;
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ? 0.64 : 0.84;
}

}  // namespace

size_t columns_of(char32_t code) { return is_in(kZero, code) ? 0 : is_in(kWide, code) ? 2 : 1; }

size_t columns_of(std::string_view text) {
  size_t sum = 0;
  for_each_code(text, [&](char32_t code, std::string_view) { sum += columns_of(code); });
  return sum;
}

std::string visible(std::string_view label) {
  const bool blank = std::all_of(label.begin(), label.end(), [](char c) { return c == ' '; });
  return blank ? "␣" : printable(label);
}

std::string cut(std::string_view text, size_t columns) {
  if (columns_of(text) <= columns) return std::string(text);
  if (columns == 0) return {};
  std::string out;
  size_t used = 1;  // the "…"
  bool full = false;
  for_each_code(text, [&](char32_t code, std::string_view bytes) {
    full = full || used + columns_of(code) > columns;
    if (full) return;
    out += bytes;
    used += columns_of(code);
  });
  return out + "…";
}

std::string pad_right(std::string_view text, size_t columns) {
  const std::string fitting = cut(text, columns);
  return fitting + std::string(columns - columns_of(fitting), ' ');
}

std::string pad_left(std::string_view text, size_t columns) {
  const std::string fitting = cut(text, columns);
  return std::string(columns - columns_of(fitting), ' ') + fitting;
}

std::string centre(std::string_view text, size_t columns) {
  const std::string fitting = cut(text, columns);
  return pad_right(std::string((columns - columns_of(fitting)) / 2, ' ') + fitting, columns);
}

std::string repeat(std::string_view text, size_t times) {
  std::string out;
  for (size_t i = 0; i < times; ++i) out += text;
  return out;
}

double em_width(std::string_view text) {
  double sum = 0;
  for_each_code(text, [&](char32_t code, std::string_view) { sum += em_of(code); });
  return sum;
}

}  // namespace rapt::plot

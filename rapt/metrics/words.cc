#include "rapt/metrics/words.h"

#include <unicode/locid.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <cstdint>

#include "rapt/base/utf8.h"

namespace rapt::metrics {
namespace {

CodePoint decode(std::string_view text, size_t at) {
  const CodePoint c = utf8_decode(text, at);
  return c.size > 0 ? c : CodePoint{0xFFFD, 1};
}

}  // namespace

std::u32string code_points(std::string_view text) {
  std::u32string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = decode(text, at);
    out.push_back(c.value);
    at += c.size;
  }
  return out;
}

bool is_space(char32_t c) {
  static constexpr char32_t kRare[] = {0x85, 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000};
  return c == ' ' || (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x1F) ||
         (c >= 0x2000 && c <= 0x200A) ||
         std::find(std::begin(kRare), std::end(kRare), c) != std::end(kRare);
}

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  size_t start = 0, at = 0;
  const auto close = [&] {
    if (at > start) words.push_back(text.substr(start, at - start));
  };
  while (at < text.size()) {
    const CodePoint c = decode(text, at);
    if (is_space(c.value)) {
      close();
      start = at + c.size;
    }
    at += c.size;
  }
  close();
  return words;
}

std::string_view strip_right(std::string_view text) {
  size_t end = 0;
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = decode(text, at);
    at += c.size;
    if (!is_space(c.value)) end = at;
  }
  return text.substr(0, end);
}

std::string lowercase(std::string_view text) {
  const bool ascii = std::all_of(text.begin(), text.end(), [](char c) { return (c & 0x80) == 0; });
  std::string out;
  if (ascii) {
    for (const char c : text) out.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c);
    return out;
  }
  const icu::StringPiece piece(text.data(), static_cast<int32_t>(text.size()));
  icu::UnicodeString::fromUTF8(piece).toLower(icu::Locale::getRoot()).toUTF8String(out);
  return out;
}

}  // namespace rapt::metrics

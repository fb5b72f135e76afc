#include "rapt/base/utf8.h"

#include <array>
#include <cstdio>
#include <cstring>

#include "rapt/base/check.h"

namespace rapt {
namespace {

uint8_t byte(std::string_view text, size_t at) { return static_cast<uint8_t>(text[at]); }

// Characters that a message must not show as they are: controls, and what moves or hides text (bidi
// controls, zero-width characters, line separators, the byte order mark).
bool hidden(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || (c >= 0x200B && c <= 0x200F) ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF || c == 0xAD;
}

std::string escaped(char32_t c) {
  if (c == '\n') return "\\n";
  if (c == '\t') return "\\t";
  if (c == '\r') return "\\r";
  std::array<char, 16> text;
  std::snprintf(text.data(), text.size(), c < 0x80 ? "\\x%02X" : "\\u%04X",
                static_cast<unsigned>(c));
  return text.data();
}

std::string hex_byte(uint8_t b) {
  std::array<char, 8> text;
  std::snprintf(text.data(), text.size(), "0x%02X", b);
  return text.data();
}

}  // namespace

CodePoint utf8_decode(std::string_view text, size_t at) {
  const uint8_t b0 = byte(text, at);
  if (b0 < 0x80) return {b0, 1};
  // The second byte's range shuts out overlong forms, surrogates and what lies above U+10FFFF.
  uint8_t size, low = 0x80, high = 0xBF;
  if (b0 < 0xC2) return {};
  if (b0 < 0xE0) {
    size = 2;
  } else if (b0 < 0xF0) {
    size = 3;
    if (b0 == 0xE0) low = 0xA0;
    if (b0 == 0xED) high = 0x9F;
  } else if (b0 < 0xF5) {
    size = 4;
    if (b0 == 0xF0) low = 0x90;
    if (b0 == 0xF4) high = 0x8F;
  } else {
    return {};
  }
  if (text.size() - at < size) return {};
  char32_t value = b0 & (0x7F >> size);
  for (size_t i = 1; i < size; ++i) {
    const uint8_t b = byte(text, at + i);
    if (b < low || b > high) return {};
    value = value << 6 | (b & 0x3F);
    low = 0x80, high = 0xBF;
  }
  return {value, size};
}

void utf8_append(std::string& text, char32_t code) {
  const auto tail = [&](int shift) { text += static_cast<char>(0x80 | (code >> shift & 0x3F)); };
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xC0 | code >> 6);
    tail(0);
  } else if (code < 0x10000) {
    text += static_cast<char>(0xE0 | code >> 12);
    tail(6), tail(0);
  } else {
    text += static_cast<char>(0xF0 | code >> 18);
    tail(12), tail(6), tail(0);
  }
}

size_t utf8_ascii_end(std::string_view text, size_t begin) {
  constexpr uint64_t kHighBits = 0x8080808080808080;
  size_t at = begin;
  for (uint64_t word; text.size() - at >= sizeof(word); at += sizeof(word)) {
    std::memcpy(&word, text.data() + at, sizeof(word));
    if ((word & kHighBits) != 0) break;
  }
  while (at < text.size() && byte(text, at) < 0x80) ++at;
  return at;
}

size_t utf8_valid_prefix(std::string_view text) {
  size_t at = 0;
  while ((at = utf8_ascii_end(text, at)) < text.size()) {
    const size_t size = utf8_decode(text, at).size;
    if (size == 0) break;
    at += size;
  }
  return at;
}

size_t utf8_cut(std::string_view text, size_t limit) {
  if (text.size() <= limit) return text.size();
  size_t at = limit;
  while (at > 0 && (byte(text, at) & 0xC0) == 0x80) --at;
  return at;
}

std::vector<std::string_view> utf8_split(std::string_view text) {
  std::vector<std::string_view> parts;
  parts.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const size_t size = utf8_decode(text, at).size;
    check(size > 0, "utf8_split: invalid UTF-8 at byte ", at + 1);
    parts.push_back(text.substr(at, size));
    at += size;
  }
  return parts;
}

void check_utf8(std::string_view text, std::string_view file, uint64_t line) {
  const size_t valid = utf8_valid_prefix(text);
  if (valid == text.size()) return;
  throw IoError(concat(file, line == 0 ? "" : concat(":", line), ": invalid UTF-8 at byte ",
                       valid + 1, line == 0 ? "" : " of the line", " (",
                       hex_byte(byte(text, valid)),
                       "); convert the text, for example: iconv -f latin1 -t utf-8"));
}

std::string utf8_repaired(std::string_view text) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const size_t valid = utf8_valid_prefix(text.substr(at));
    result += text.substr(at, valid);
    at += valid;
    if (at == text.size()) break;
    utf8_append(result, 0xFFFD);
    // The broken sequence: its first byte and the continuation bytes that follow it.
    do ++at;
    while (at < text.size() && (byte(text, at) & 0xC0) == 0x80);
  }
  return result;
}

std::string printable(std::string_view text, size_t limit) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const CodePoint code = utf8_decode(text, at);
    const std::string shown = code.size == 0       ? "\\x" + hex_byte(byte(text, at)).substr(2)
                              : hidden(code.value) ? escaped(code.value)
                                                   : std::string(text.substr(at, code.size));
    if (result.size() + shown.size() > limit) return result + "…";
    result += shown;
    at += code.size == 0 ? 1 : code.size;
  }
  return result;
}

std::string code_name(char32_t code) {
  std::array<char, 16> text;
  std::snprintf(text.data(), text.size(), "U+%04X", static_cast<unsigned>(code));
  return text.data();
}

}  // namespace rapt

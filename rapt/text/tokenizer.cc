#include "rapt/text/tokenizer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <utility>

#include "rapt/base/check.h"
#include "rapt/base/utf8.h"

namespace rapt {
namespace {

class CharTokenizer : public Tokenizer {
 public:
  void split(std::string_view line, FunctionRef<void(std::string_view)> piece) const override {
    for (size_t at = 0; at < line.size();) {
      const size_t size = static_cast<uint8_t>(line[at]) < 0x80 ? 1 : utf8_decode(line, at).size;
      check(size > 0, "invalid UTF-8 at byte ", at + 1);
      piece(line.substr(at, size));
      at += size;
    }
  }
  std::string decode(std::span<const std::string> pieces) const override {
    std::string text;
    for (const std::string& piece : pieces) text += piece;
    return text;
  }
};

class WordTokenizer : public Tokenizer {
 public:
  void split(std::string_view line, FunctionRef<void(std::string_view)> piece) const override {
    const auto space = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
    const char *at = line.data(), *const end = at + line.size();
    for (;;) {
      at = std::find_if_not(at, end, space);
      if (at == end) return;
      const char* const begin = std::exchange(at, std::find_if(at, end, space));
      piece({begin, at});
    }
  }
  std::string decode(std::span<const std::string> pieces) const override {
    std::string text;
    for (const std::string& piece : pieces) {
      if (!text.empty()) text += ' ';
      text += piece;
    }
    return text;
  }
};

class ByteTokenizer : public Tokenizer {
 public:
  ByteTokenizer() {
    for (size_t b = 0; b < 256; ++b) {
      std::array<char, 8> name;
      std::snprintf(name.data(), name.size(), "<0x%02X>", static_cast<unsigned>(b));
      names_[b] = name.data();
    }
  }
  void split(std::string_view line, FunctionRef<void(std::string_view)> piece) const override {
    for (const char c : line) piece(names_[static_cast<uint8_t>(c)]);
  }
  // A piece that names no byte (<unk>) stands for itself.
  std::string decode(std::span<const std::string> pieces) const override {
    std::string bytes;
    for (const std::string& piece : pieces) {
      uint8_t byte = 0;
      const bool named = piece.size() == 6 && piece.starts_with("<0x") && piece.ends_with('>') &&
                         std::from_chars(&piece[3], &piece[5], byte, 16).ptr == &piece[5];
      bytes += named ? std::string(1, static_cast<char>(byte)) : piece;
    }
    return utf8_repaired(bytes);
  }
  std::vector<std::string> fixed_pieces() const override { return {names_.begin(), names_.end()}; }

 private:
  std::array<std::string, 256> names_;
};

}  // namespace

std::vector<std::string> Tokenizer::encode(std::string_view line) const {
  std::vector<std::string> pieces;
  split(line, [&](std::string_view piece) { pieces.emplace_back(piece); });
  return pieces;
}

std::unique_ptr<Tokenizer> make_char_tokenizer() { return std::make_unique<CharTokenizer>(); }
std::unique_ptr<Tokenizer> make_word_tokenizer() { return std::make_unique<WordTokenizer>(); }
std::unique_ptr<Tokenizer> make_byte_tokenizer() { return std::make_unique<ByteTokenizer>(); }

std::string joined(std::string_view text, std::string_view join) {
  if (join.empty()) return std::string(text);
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const size_t found = std::min(text.find(join, at), text.size());
    result += text.substr(at, found - at);
    at = found + join.size();
  }
  // At the end of a line the space after the mark is missing.
  std::string_view mark = join;
  while (mark.ends_with(' ')) mark.remove_suffix(1);
  if (!mark.empty() && result.ends_with(mark)) result.resize(result.size() - mark.size());
  return result;
}

}  // namespace rapt

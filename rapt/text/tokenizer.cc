#include "rapt/text/tokenizer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>

#include "rapt/base/check.h"
#include "rapt/base/utf8.h"

namespace rapt {
namespace {

class CharTokenizer : public Tokenizer {
 public:
  std::vector<std::string> encode(std::string_view line) const override {
    const std::vector<std::string_view> parts = utf8_split(line);
    return {parts.begin(), parts.end()};
  }
  std::string decode(std::span<const std::string> pieces) const override {
    std::string text;
    for (const std::string& piece : pieces) text += piece;
    return text;
  }
};

class WordTokenizer : public Tokenizer {
 public:
  std::vector<std::string> encode(std::string_view line) const override {
    constexpr std::string_view kSpace = " \t\n\v\f\r";
    std::vector<std::string> words;
    for (size_t end = 0; end < line.size();) {
      const size_t begin = line.find_first_not_of(kSpace, end);
      if (begin == std::string_view::npos) break;
      end = std::min(line.find_first_of(kSpace, begin), line.size());
      words.emplace_back(line.substr(begin, end - begin));
    }
    return words;
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
  std::vector<std::string> encode(std::string_view line) const override {
    std::vector<std::string> pieces;
    pieces.reserve(line.size());
    for (const char c : line) pieces.push_back(names_[static_cast<uint8_t>(c)]);
    return pieces;
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

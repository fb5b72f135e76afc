#include "rapt/metrics/bleu_tokenizer.h"

#include <unicode/uchar.h>

#include <array>
#include <utility>

#include "rapt/base/check.h"
#include "rapt/base/utf8.h"
#include "rapt/metrics/words.h"

namespace rapt::metrics {
namespace {

constexpr std::array<std::pair<const char*, BleuTokenizer>, 4> kNames = {
    {{"13a", BleuTokenizer::k13a},
     {"intl", BleuTokenizer::kIntl},
     {"char", BleuTokenizer::kChar},
     {"none", BleuTokenizer::kNone}}};

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

// re.sub over pairs of neighbours: where first(a) and second(b), the text becomes before a between
// b after. Matches do not overlap: the search goes on behind b.
template <class Text, class First, class Second>
Text separate(const Text& in, const First& first, const Second& second, bool before, bool between,
              bool after) {
  Text out;
  out.reserve(in.size() + in.size() / 2);
  for (size_t i = 0; i < in.size(); ++i) {
    if (i + 1 < in.size() && first(in[i]) && second(in[i + 1])) {
      if (before) out.push_back(' ');
      out.push_back(in[i]);
      if (between) out.push_back(' ');
      out.push_back(in[++i]);
      if (after) out.push_back(' ');
    } else {
      out.push_back(in[i]);
    }
  }
  return out;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_stop(char c) { return c == '.' || c == ','; }

// The space and ASCII punctuation except ' , - . which depend on their neighbours or stay.
bool is_symbol(char c) {
  return (c >= ' ' && c <= '&') || (c >= '(' && c <= '+') || c == '/' || (c >= ':' && c <= '@') ||
         (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

// Bytes suffice: what it looks for is ASCII, and a byte of a longer character is no digit.
std::string tokenize_13a(std::string_view in) {
  std::string line = concat(' ', in, ' ');
  replace_all(line, "<skipped>", "");
  replace_all(line, "-\n", "");
  replace_all(line, "\n", " ");
  replace_all(line, "&quot;", "\"");
  replace_all(line, "&amp;", "&");
  replace_all(line, "&lt;", "<");
  replace_all(line, "&gt;", ">");
  std::string spaced;
  for (const char c : line) {
    if (is_symbol(c)) {
      spaced += {' ', c, ' '};
    } else {
      spaced.push_back(c);
    }
  }
  const auto no_digit = [](char c) { return !is_digit(c); };
  spaced = separate(spaced, no_digit, is_stop, false, true, true);
  spaced = separate(spaced, is_stop, no_digit, true, true, false);
  return separate(
      spaced, is_digit, [](char c) { return c == '-'; }, false, true, true);
}

bool has_type(char32_t c, uint32_t mask) {
  return (U_MASK(u_charType(static_cast<UChar32>(c))) & mask) != 0;
}

std::string tokenize_intl(std::string_view in) {
  const auto no_number = [](char32_t c) { return !has_type(c, U_GC_N_MASK); };
  const auto punctuation = [](char32_t c) { return has_type(c, U_GC_P_MASK); };
  std::u32string line = code_points(in);
  line = separate(line, no_number, punctuation, false, true, true);
  line = separate(line, punctuation, no_number, true, true, false);
  std::string out;
  for (const char32_t c : line) {
    const bool apart = has_type(c, U_GC_S_MASK);
    if (apart) out.push_back(' ');
    utf8_append(out, c);
    if (apart) out.push_back(' ');
  }
  return out;
}

std::string tokenize_char(std::string_view in) {
  std::string out;
  for (const char32_t c : code_points(in)) {
    utf8_append(out, c);
    out.push_back(' ');
  }
  return out;
}

}  // namespace

BleuTokenizer bleu_tokenizer(std::string_view name) {
  for (const auto& [known, tokenizer] : kNames) {
    if (name == known) return tokenizer;
  }
  throw InvalidArgument(
      concat("bleu: unknown tokenizer '", name, "', expected 13a, intl, char or none"));
}

const char* name_of(BleuTokenizer tokenizer) {
  for (const auto& [name, known] : kNames) {
    if (known == tokenizer) return name;
  }
  return "?";
}

std::string tokenize(BleuTokenizer tokenizer, std::string_view line) {
  switch (tokenizer) {
    case BleuTokenizer::k13a:
      return tokenize_13a(line);
    case BleuTokenizer::kIntl:
      return tokenize_intl(line);
    case BleuTokenizer::kChar:
      return tokenize_char(line);
    case BleuTokenizer::kNone:
      break;
  }
  return std::string(line);
}

}  // namespace rapt::metrics

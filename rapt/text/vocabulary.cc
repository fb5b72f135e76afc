#include "rapt/text/vocabulary.h"

#include <algorithm>

#include "rapt/base/check.h"
#include "rapt/base/utf8.h"
#include "rapt/io/json.h"

namespace rapt {
namespace {

constexpr size_t kMaxSymbols = size_t{1} << 20;
constexpr std::array<int32_t, 4> kSpecialIds = {0, 1, 2, 3};

bool is_special(std::string_view piece) {
  return std::find(kSpecialSymbols.begin(), kSpecialSymbols.end(), piece) != kSpecialSymbols.end();
}

// "(U+00DF)"; of a longer symbol its first code points, which shows what the eye cannot see.
std::string code_points(std::string_view symbol) {
  constexpr size_t kShown = 6;
  std::string text;
  const std::vector<std::string_view> parts = utf8_split(symbol);
  for (size_t i = 0; i < std::min(parts.size(), kShown); ++i) {
    text += concat(i == 0 ? "" : " ", code_name(utf8_decode(parts[i], 0).value));
  }
  return concat('(', text, parts.size() > kShown ? " …)" : ")");
}

}  // namespace

Vocabulary::Vocabulary(std::vector<std::string> symbols, std::span<const int32_t> control,
                       std::string_view name)
    : symbols_(std::move(symbols)) {
  check<IoError>(!symbols_.empty() && symbols_.size() <= kMaxSymbols, name, ": ", symbols_.size(),
                 " symbols, expected 1 to ", kMaxSymbols);
  for (size_t id = 0; id < symbols_.size(); ++id) {
    const uint32_t first = ids_.add(symbols_[id]);
    if (first == id) continue;  // the message takes longer to make than the rest
    throw IoError(
        concat(name, ": \"", printable(symbols_[id], 80), "\" has two ids, ", first, " and ", id));
  }
  control_.resize(symbols_.size());
  for (const int32_t id : control) {
    check<IoError>(id >= 0 && static_cast<size_t>(id) < size(), name, ": control symbol ", id,
                   " is not among the ", size(), " symbols");
    control_[static_cast<size_t>(id)] = 1;
  }
}

Vocabulary Vocabulary::of_counts(const PieceCounts& counts, uint64_t min_count, size_t max_size) {
  std::vector<std::pair<uint64_t, std::string_view>> order;
  for (uint32_t i = 0; i < counts.size(); ++i) {
    const std::string_view piece = counts.piece(i);
    if (counts.count(i) >= min_count && !is_special(piece))
      order.emplace_back(counts.count(i), piece);
  }
  // Bytes of UTF-8 compare as code points do.
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  if (max_size > 0) order.resize(std::min(order.size(), std::max(max_size, size_t{4}) - 4));
  std::vector<std::string> pieces;
  for (const auto& [count, piece] : order) pieces.emplace_back(piece);
  return of_pieces(pieces);
}

Vocabulary Vocabulary::of_pieces(std::span<const std::string> pieces) {
  std::vector<std::string> symbols(kSpecialSymbols.begin(), kSpecialSymbols.end());
  symbols.insert(symbols.end(), pieces.begin(), pieces.end());
  return Vocabulary(std::move(symbols), kSpecialIds, "vocabulary");
}

std::vector<std::string> read_symbols(const fs::path& path) {
  const Json json = read_json(path);
  check<IoError>(json.is_array(), path.string(), ": expected a JSON array of strings");
  std::vector<std::string> symbols;
  symbols.reserve(json.size());
  for (const Json& symbol : json) {
    check<IoError>(symbol.is_string(), path.string(), ": entry ", symbols.size(), " is no string");
    symbols.push_back(symbol.get<std::string>());
  }
  return symbols;
}

void write_symbols(const fs::path& path, std::span<const std::string> symbols) {
  std::string text;
  for (const std::string& symbol : symbols) {
    text += concat(text.empty() ? "[\n" : ",\n", Json(symbol).dump());
  }
  write_file(path, text + "\n]\n");
}

void UnknownSymbols::add(uint64_t line, std::string_view symbol) {
  ++count_;
  if (first_.size() < kKept) first_.push_back({line, std::string(symbol)});
}

void UnknownSymbols::merge(const UnknownSymbols& later) {
  count_ += later.count_;
  for (const Seen& seen : later.first_) {
    if (first_.size() < kKept) first_.push_back(seen);
  }
}

std::string UnknownSymbols::warning(std::string_view where) const {
  if (count_ == 0) return "";
  std::string text =
      concat(where, ": ", count_, count_ == 1 ? " symbol is" : " symbols are",
             " not in the vocabulary and became <unk>", count_ == 1 ? ": " : ", first: ");
  for (size_t i = 0; i < first_.size(); ++i) {
    text += concat(i == 0 ? "" : ", ", "line ", first_[i].line, " '",
                   printable(first_[i].symbol, 60), "' ", code_points(first_[i].symbol));
  }
  return text;
}

}  // namespace rapt

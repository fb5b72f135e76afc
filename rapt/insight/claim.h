// A claim that study notes make about the Transformer, and what its experiment answers. Each claim
// has a header with its options (fields() as in base/options.h, every default that of the notes;
// full() where the page's figure takes other sizes), its Claim, and a function
//   Result name(const NameOptions& options, const Setting& setting);
// apps/rapt/insight_claims.cc lists them all.
#pragma once
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "rapt/base/options.h"
#include "rapt/parallel/pool.h"
#include "rapt/plot/figure.h"

namespace rapt {
namespace insight {

enum class Language { kEnglish, kKorean };
enum class Verdict { kHolds, kHoldsWhen, kFails };
// Of matrices of weights: the notes' columns sum to one, our rows do. It is the same memory.
enum class Orientation { kNotes, kRows };

// The claim in one line.
struct Claim {
  std::string_view name, english, korean;

  std::string_view statement(Language language) const {
    return language == Language::kEnglish ? english : korean;
  }
};

// How an experiment is run, apart from what it is about.
struct Setting {
  Pool& pool;
  uint64_t seed = 1;
  Language language = Language::kEnglish;

  // The same said in the language that is asked for.
  std::string say(std::string_view english, std::string_view korean) const {
    return std::string(language == Language::kEnglish ? english : korean);
  }
};

// A number or a text.
struct Cell {
  template <class Number>
  requires std::is_arithmetic_v<Number> Cell(Number v)
      : value(static_cast<double>(v)) {}                // NOLINT: implicit on purpose
  Cell(std::string text) : value(std::move(text)) {}    // NOLINT
  Cell(const char* text) : value(std::string(text)) {}  // NOLINT
  std::variant<double, std::string> value;
};

struct Column {
  std::string key, title;  // of JSON, the same in every language; and for people
};
struct Table {
  std::string name = {}, title = {};
  std::vector<Column> columns = {};
  std::vector<std::vector<Cell>> rows = {};
};

// The keys of numbers and tables, and the names of tables, are stable and listed in
// docs/guide/insight.md.
struct Result {
  plot::Figure figure;
  std::vector<Table> tables;
  std::vector<std::pair<std::string, double>> numbers;  // what an inequality may name
  Verdict verdict;
  // Made of measured numbers; follows "Holds: ", "Holds when " or "Does not hold: ".
  std::string sentence;
};

}  // namespace insight

template <>
inline constexpr auto kNames<insight::Language> = names<insight::Language>(
    {{insight::Language::kEnglish, "en"}, {insight::Language::kKorean, "ko"}});
template <>
inline constexpr auto kNames<insight::Verdict> =
    names<insight::Verdict>({{insight::Verdict::kHolds, "holds"},
                             {insight::Verdict::kHoldsWhen, "holds when"},
                             {insight::Verdict::kFails, "does not hold"}});
template <>
inline constexpr auto kNames<insight::Orientation> = names<insight::Orientation>(
    {{insight::Orientation::kNotes, "notes"}, {insight::Orientation::kRows, "rows"}});

}  // namespace rapt

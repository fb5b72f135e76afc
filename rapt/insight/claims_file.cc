#include "rapt/insight/claims_file.h"

#include <toml++/toml.h>
#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <sstream>

#include "rapt/base/check.h"
#include "rapt/insight/result.h"

namespace rapt::insight {
namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 20;
constexpr std::array<std::string_view, 5> kComparisons = {"<", "<=", ">", ">=", "=="};

bool is_true(double left, std::string_view comparison, double right) {
  if (comparison == "<") return left < right;
  if (comparison == "<=") return left <= right;
  if (comparison == ">") return left > right;
  if (comparison == ">=") return left >= right;
  return left == right;
}

bool is_name(std::string_view text) {
  return text[0] >= 'a' && text[0] <= 'z' &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string_view::npos;
}

std::string place(const std::string& file, const toml::source_region& region) {
  return concat(file, ':', region.begin.line);
}

// The texts of a claim's table, each key known and none missing.
class Entry {
 public:
  Entry(const toml::table& table, std::string where) : table_(table), where_(std::move(where)) {
    for (const auto& [key, value] : table) {
      const std::string_view name = key.str();
      check(name == "name" || name == "sentence" || name == "sentence_ko" || name == "experiment" ||
                name == "expect",
            where_, ": unknown key '", name,
            "', expected name, sentence, sentence_ko, experiment and expect");
    }
  }
  std::string text(std::string_view key) const {
    const toml::node* node = table_.get(key);
    check(node != nullptr, where_, ": ", key, " is missing");
    check(node->is_string() && !node->as_string()->get().empty(), where_, ": ", key,
          " is no text, expected one in quotes");
    return node->as_string()->get();
  }
  bool has(std::string_view key) const { return table_.contains(key); }

 private:
  const toml::table& table_;
  std::string where_;
};

ClaimOnFile claim_of(const toml::table& table, const std::string& file) {
  const std::string line = place(file, table.source());
  const Entry entry(table, line);
  const std::string name = entry.text("name"), where = concat(line, ": ", name);
  const std::string sentence = entry.text("sentence");
  return {name,
          sentence,
          entry.has("sentence_ko") ? entry.text("sentence_ko") : sentence,
          entry.text("experiment"),
          where,
          Inequality(entry.text("expect"), where)};
}

}  // namespace

Inequality::Inequality(std::string_view text, const std::string& where) {
  std::istringstream in{std::string(text)};
  bool named = false;
  for (std::string word; in >> word;) {
    if (operands_.size() > comparisons_.size()) {
      check(std::ranges::find(kComparisons, word) != kComparisons.end(), where, ": '", word,
            "' in expect, where one of <, <=, >, >=, == is expected");
      comparisons_.push_back(word);
      continue;
    }
    Operand operand;
    const char* const end = word.data() + word.size();
    const auto [stop, error] = std::from_chars(word.data(), end, operand.number);
    if (error != std::errc() || stop != end) {
      check(is_name(word), where, ": '", word,
            "' in expect, where a number or the name of one is expected");
      operand.name = word;
      named = true;
    }
    operands_.push_back(std::move(operand));
  }
  check(!comparisons_.empty() && operands_.size() == comparisons_.size() + 1 && named, where,
        ": expect is '", text, "', expected comparisons such as '22.3 <= deviation <= 22.9'");
}

Inequality::Outcome Inequality::over(const std::vector<std::pair<std::string, double>>& numbers,
                                     const std::string& where) const {
  Outcome outcome{true, ""};
  std::vector<double> values;
  for (size_t i = 0; i < operands_.size(); ++i) {
    const auto& [name, number] = operands_[i];
    if (i > 0) outcome.text += ' ' + comparisons_[i - 1] + ' ';
    if (name.empty()) {
      values.push_back(number);
      outcome.text += show(number, 6);
      continue;
    }
    const auto found = std::ranges::find(numbers, name, &std::pair<std::string, double>::first);
    std::string names;
    for (const auto& entry : numbers) names += (names.empty() ? "" : ", ") + entry.first;
    check(found != numbers.end(), where, ": the experiment measures no '", name,
          "', expected one of ", names);
    values.push_back(found->second);
    outcome.text += concat(name, " = ", show(found->second, 6));
  }
  for (size_t i = 0; i < comparisons_.size(); ++i) {
    outcome.holds = outcome.holds && is_true(values[i], comparisons_[i], values[i + 1]);
  }
  return outcome;
}

std::vector<ClaimOnFile> read_claims(const fs::path& path) {
  const std::string text = read_file(path, kMostBytes), file = path.string();
  toml::table top;
  try {
    top = toml::parse(text, file);
  } catch (const toml::parse_error& e) {
    throw InvalidArgument(concat(place(file, e.source()), ": ", e.description()));
  }
  const toml::array* list = top["claim"].as_array();
  check(top.size() == 1 && list != nullptr && list->is_array_of_tables(), file,
        ": expected tables [[claim]] and nothing else");
  std::vector<ClaimOnFile> claims;
  std::set<std::string> names;
  for (const toml::node& node : *list) {
    claims.push_back(claim_of(*node.as_table(), file));
    check(names.insert(claims.back().name).second, claims.back().where,
          ": the name is given twice");
  }
  return claims;
}

}  // namespace rapt::insight

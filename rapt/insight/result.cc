#include "rapt/insight/result.h"

#include <algorithm>
#include <cmath>

#include "rapt/plot/data.h"
#include "rapt/plot/label.h"
#include "rapt/plot/scale.h"

namespace rapt::insight {
namespace {

bool is_number(const Cell& cell) { return std::holds_alternative<double>(cell.value); }

std::string text_of(const Cell& cell) {
  return is_number(cell) ? show(std::get<double>(cell.value)) : std::get<std::string>(cell.value);
}

Json json_of(double v) { return std::isfinite(v) ? Json(v) : Json(nullptr); }
Json json_of(const Cell& cell) {
  return is_number(cell) ? json_of(std::get<double>(cell.value))
                         : Json(std::get<std::string>(cell.value));
}

Json json_of(const Table& table) {
  Json rows = Json::array();
  for (const std::vector<Cell>& row : table.rows) {
    Json object = Json::object();
    for (size_t c = 0; c < row.size(); ++c) object[table.columns[c].key] = json_of(row[c]);
    rows.push_back(std::move(object));
  }
  return rows;
}

}  // namespace

std::string show(double v, int digits) { return plot::format_value(v, digits); }

std::string verdict_sentence(const Result& result, Language language) {
  constexpr std::string_view kEnglish[] = {"Holds: ", "Holds when ", "Does not hold: "};
  constexpr std::string_view kKorean[] = {"성립한다: ", "조건부로 성립한다: ", "성립하지 않는다: "};
  const size_t verdict = static_cast<size_t>(result.verdict);
  return concat((language == Language::kEnglish ? kEnglish : kKorean)[verdict], result.sentence);
}

std::string to_text(const Table& table) {
  std::string text = table.title.empty() ? "" : table.title + '\n';
  std::vector<std::string> lines(table.rows.size() + 1);
  for (size_t c = 0; c < table.columns.size(); ++c) {
    size_t width = plot::columns_of(table.columns[c].title);
    for (const auto& row : table.rows) width = std::max(width, plot::columns_of(text_of(row[c])));
    const bool right = !table.rows.empty() && std::ranges::all_of(table.rows, [&](const auto& row) {
      return is_number(row[c]);
    });
    const auto pad = right ? plot::pad_left : plot::pad_right;
    const std::string gap = c == 0 ? "  " : "   ";
    lines[0] += gap + pad(table.columns[c].title, width);
    for (size_t r = 0; r < table.rows.size(); ++r) {
      lines[r + 1] += gap + pad(text_of(table.rows[r][c]), width);
    }
  }
  for (const std::string& line : lines)
    text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  return text;
}

Json to_json(const Result& result) {
  Json numbers = Json::object(), tables = Json::object();
  for (const auto& [key, value] : result.numbers) numbers[key] = json_of(value);
  for (const Table& table : result.tables) tables[table.name] = json_of(table);
  return {{"numbers", std::move(numbers)},
          {"tables", std::move(tables)},
          {"figure", Json::parse(plot::to_json(result.figure))}};
}

}  // namespace rapt::insight

#include <algorithm>
#include <array>
#include <cmath>

#include "rapt/base/check.h"
#include "rapt/plot/label.h"
#include "rapt/plot/scale.h"
#include "rapt/plot/text_panels.h"

namespace rapt::plot {
namespace {

constexpr std::array<const char*, 8> kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};

// A bar from `from` to `to`, in columns of `width`. Unicode has eighths that begin at the left of a
// cell; at the left end of a bar a cell is full or empty.
std::string bar(double from, double to, size_t width) {
  std::string out;
  size_t used = 0;
  const size_t first = static_cast<size_t>(std::floor(from + 0.5));
  const size_t eighths = static_cast<size_t>(std::floor(to * 8 + 0.5));
  for (; used < first; ++used) out += ' ';
  for (; used < eighths / 8; ++used) out += "█";
  if (eighths % 8 != 0 && used == eighths / 8 && used < width) {
    out += kEighths[eighths % 8];
    ++used;
  }
  return out + std::string(width > used ? width - used : 0, ' ');
}

std::string number_of(const BarSeries& s, size_t i) {
  if (!std::isfinite(s.values[i])) return "no value";
  const std::string value = format_short(s.values[i]);
  if (s.low.empty() || !std::isfinite(s.low[i]) || !std::isfinite(s.high[i])) return value;
  return concat(value, " [", format_short(s.low[i]), ", ", format_short(s.high[i]), ']');
}

size_t widest(const std::vector<std::string>& texts, size_t limit) {
  size_t width = 0;
  for (const std::string& t : texts) width = std::max(width, columns_of(t));
  return std::min(width, limit);
}

struct Row {
  std::string category, series, number;
  double value;
  size_t colour;
};

std::vector<Row> rows_of(const Bars& bars) {
  std::vector<Row> rows;
  for (size_t c = 0; c < bars.categories.size(); ++c) {
    for (size_t s = 0; s < bars.series.size(); ++s) {
      const bool named = bars.series.size() > 1;
      rows.push_back({s == 0 ? visible(bars.categories[c]) : "",
                      named ? visible(bars.series[s].name) : "", number_of(bars.series[s], c),
                      bars.series[s].values[c], s});
    }
  }
  return rows;
}

template <class Field>
size_t widest_of(const std::vector<Row>& rows, const Field& field, size_t limit) {
  std::vector<std::string> texts;
  for (const Row& row : rows) texts.push_back(row.*field);
  return widest(texts, limit);
}

}  // namespace

TextBlock draw_text(const Bars& bars, const TextOptions& options) {
  TextBlock block;
  const std::string axis = axis_title(bars.value);
  const std::string title = bars.title + (bars.title.empty() || axis.empty() ? "" : ": ") + axis;
  if (!title.empty()) block.add(cut(visible(title), options.width));
  const std::vector<Row> rows = rows_of(bars);
  if (rows.empty()) {
    block.add("no data");
    return block;
  }
  const size_t category = widest_of(rows, &Row::category, options.width / 4);
  const size_t series = widest_of(rows, &Row::series, options.width / 6);
  const size_t number = widest_of(rows, &Row::number, options.width / 3);
  const size_t taken = category + (series > 0 ? series + 1 : 0) + number + 3;
  const size_t width = options.width > taken + 8 ? options.width - taken : 8;

  std::vector<double> values;
  for (const Row& row : rows) values.push_back(row.value);
  if (!bars.value.logarithmic) values.push_back(0);
  const Scale scale(bars.value, range_of({&values}, bars.value.logarithmic), 5);
  const double full = static_cast<double>(width);
  const auto place = [&](double v) { return full * std::clamp(scale(v), 0.0, 1.0); };
  const double origin = bars.value.logarithmic ? 0 : place(0);
  for (const Row& row : rows) {
    const double end = std::isfinite(scale(row.value)) ? place(row.value) : origin;
    std::string drawn = bar(std::min(origin, end), std::max(origin, end), width);
    if (options.colour) drawn = foreground(series_colour(row.colour, true), drawn);
    std::string line = pad_right(row.category, category);
    if (series > 0) line += ' ' + pad_right(row.series, series);
    line += " │" + drawn + ' ' + cut(row.number, number);
    block.add(std::move(line), taken - number + width + columns_of(cut(row.number, number)));
  }
  return block;
}

}  // namespace rapt::plot

#include "rapt/plot/text.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "rapt/base/check.h"
#include "rapt/plot/label.h"
#include "rapt/plot/text_panels.h"

namespace rapt::plot {
namespace {

constexpr size_t kLeastWidth = 40, kBetween = 3;

TextBlock draw_panel(const Panel& panel, Range range, const TextOptions& options) {
  if (const HeatMap* map = std::get_if<HeatMap>(&panel)) return draw_text(*map, range, options);
  if (const Bars* bars = std::get_if<Bars>(&panel)) return draw_text(*bars, options);
  return draw_text(std::get<LineChart>(panel), options);
}

// Blocks side by side, tops aligned.
TextBlock beside(const std::vector<TextBlock>& blocks) {
  size_t height = 0;
  for (const TextBlock& b : blocks) height = std::max(height, b.lines().size());
  TextBlock out;
  for (size_t row = 0; row < height; ++row) {
    std::string text;
    size_t columns = 0, due = 0;  // blanks are written only before something
    for (const TextBlock& b : blocks) {
      if (row < b.lines().size()) {
        const TextLine& line = b.lines()[row];
        text += std::string(due - columns, ' ') + line.text;
        columns = due + line.columns;
      }
      due += b.width() + kBetween;
    }
    out.add(std::move(text), columns);
  }
  return out;
}

// What the shades of panel i mean, unless the next panel says the same.
TextBlock notes_of(const Figure& figure, const std::vector<Range>& ranges, size_t i,
                   const TextOptions& options) {
  TextBlock notes;
  const HeatMap* map = std::get_if<HeatMap>(&figure.panels[i]);
  if (map == nullptr) return notes;
  if (i + 1 < figure.panels.size()) {
    const HeatMap* next = std::get_if<HeatMap>(&figure.panels[i + 1]);
    if (next != nullptr && ranges[i] == ranges[i + 1] && map->value_label == next->value_label &&
        axes_note(*map) == axes_note(*next)) {
      return notes;
    }
  }
  const std::string axes = axes_note(*map);
  if (!axes.empty()) notes.add(cut(visible(axes), options.width));
  notes.append(shade_legend(ranges[i], map->value_label, options));
  return notes;
}

}  // namespace

void TextBlock::add(std::string text) {
  const size_t columns = columns_of(text);
  add(std::move(text), columns);
}

void TextBlock::add(std::string text, size_t columns) {
  width_ = std::max(width_, columns);
  lines_.push_back({std::move(text), columns});
}

void TextBlock::append(const TextBlock& below) {
  for (const TextLine& line : below.lines_) add(line.text, line.columns);
}

std::string foreground(Rgb c, std::string_view text) {
  return concat("\x1b[38;2;", int{c.red}, ';', int{c.green}, ';', int{c.blue}, 'm', text,
                "\x1b[39m");
}

std::string background(Rgb c, std::string_view text) {
  return concat("\x1b[48;2;", int{c.red}, ';', int{c.green}, ';', int{c.blue}, 'm', text,
                "\x1b[49m");
}

std::string to_text(const Figure& figure, const TextOptions& given) {
  check_figure(figure);
  TextOptions options = given;
  options.width = std::max(options.width, kLeastWidth);
  const std::vector<Range> ranges = colour_ranges(figure);
  TextBlock out;
  if (!figure.title.empty()) out.add(cut(visible(figure.title), options.width));
  std::vector<TextBlock> row;
  size_t width = 0;
  const auto flush = [&] {
    if (row.empty()) return;
    if (!out.lines().empty()) out.add("");
    out.append(beside(row));
    row.clear();
    width = 0;
  };
  for (size_t i = 0; i < figure.panels.size(); ++i) {
    TextBlock block = draw_panel(figure.panels[i], ranges[i], options);
    if (row.size() == figure.columns || width + kBetween + block.width() > options.width) flush();
    width += block.width() + (row.empty() ? 0 : kBetween);
    row.push_back(std::move(block));
    const TextBlock notes = notes_of(figure, ranges, i, options);
    if (!notes.lines().empty()) {
      flush();
      out.append(notes);
    }
  }
  flush();
  if (!figure.caption.empty()) {
    out.add("");
    out.add(cut(visible(figure.caption), options.width));
  }
  std::string text;
  for (const TextLine& line : out.lines()) {
    text.append(line.text, 0, line.text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

std::string sparkline(std::span<const double> values, size_t width) {
  static constexpr std::array<const char*, 8> kBars = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const size_t columns = std::min(width, values.size());
  std::vector<double> means;
  for (size_t c = 0; c < columns; ++c) {
    const size_t begin = c * values.size() / columns, end = (c + 1) * values.size() / columns;
    double sum = 0, count = 0;
    for (const double v : values.subspan(begin, end - begin)) {
      if (std::isfinite(v)) sum += v, ++count;
    }
    means.push_back(sum / count);  // 0 / 0 is NaN: a blank
  }
  const Range range = range_of({&means});
  std::string out;
  for (const double v : means) {
    const double t = (v - range.low) / (range.high - range.low);
    out += std::isfinite(v) ? kBars[static_cast<size_t>(std::min(t * 8, 7.0))] : " ";
  }
  return out;
}

}  // namespace rapt::plot

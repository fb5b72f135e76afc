#include <algorithm>
#include <cmath>

#include "rapt/base/check.h"
#include "rapt/base/utf8.h"
#include "rapt/plot/label.h"
#include "rapt/plot/scale.h"
#include "rapt/plot/text_panels.h"

namespace rapt::plot {
namespace {

constexpr size_t kRows = 12;
constexpr std::string_view kMarks = "*+ox#@%";  // of several lines without colours

// Dots in cells: 2 x 4 Braille dots each, or, with marks, one.
class Canvas {
 public:
  Canvas(size_t columns, size_t rows, bool marks)
      : columns_(columns),
        across_(marks ? 1 : 2),
        down_(marks ? 1 : 4),
        dots_(columns * across_ * rows * down_) {}
  // From (x0, y0) to (x1, y1), places in [0, 1], y upwards.
  void line(double x0, double y0, double x1, double y1, size_t series) {
    const double wide = static_cast<double>(columns_ * across_ - 1);
    const double high = static_cast<double>(height() - 1);
    const double steps = std::ceil(std::max(std::fabs(x1 - x0) * wide, std::fabs(y1 - y0) * high));
    for (double i = 0; i <= steps; ++i) {
      const double t = steps == 0 ? 0 : i / steps;
      const double x = x0 + (x1 - x0) * t, y = y0 + (y1 - y0) * t;
      if (x < 0 || x > 1 || y < 0 || y > 1) continue;
      const size_t column = static_cast<size_t>(x * wide + 0.5);
      const size_t row = static_cast<size_t>((1 - y) * high + 0.5);
      dots_[row * columns_ * across_ + column] = static_cast<uint8_t>(series + 1);
    }
  }
  std::string row(size_t r, bool colour) const {
    std::string out;
    for (size_t c = 0; c < columns_; ++c) {
      const auto [text, series] = cell(r, c);
      out += colour && series > 0 ? foreground(series_colour(series - 1, true), text) : text;
    }
    return out;
  }

 private:
  struct Cell {
    std::string text;
    size_t series;  // 0: none
  };
  size_t height() const { return dots_.size() / (columns_ * across_); }
  uint8_t dot(size_t row, size_t column) const { return dots_[row * columns_ * across_ + column]; }

  Cell cell(size_t r, size_t c) const {
    if (across_ == 1) {
      const uint8_t series = dot(r, c);
      return {series == 0 ? " " : std::string(1, kMarks[(series - 1) % kMarks.size()]), series};
    }
    // The bits of U+2800 + bits, row by row.
    constexpr uint8_t kBits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    uint8_t bits = 0, last = 0;
    for (size_t y = 0; y < 4; ++y) {
      for (size_t x = 0; x < 2; ++x) {
        const uint8_t series = dot(4 * r + y, 2 * c + x);
        if (series == 0) continue;
        bits |= kBits[y][x];
        last = std::max(last, series);
      }
    }
    std::string text;
    utf8_append(text, bits == 0 ? U' ' : char32_t{0x2800} + bits);
    return {text, last};
  }

  size_t columns_, across_, down_;
  std::vector<uint8_t> dots_;  // series + 1
};

Scale scale_for(const LineChart& chart, bool of_x, size_t ticks) {
  const Axis& axis = of_x ? chart.x : chart.y;
  std::vector<const std::vector<double>*> all;
  for (const LineSeries& s : chart.series) all.push_back(of_x ? &s.x : &s.y);
  return Scale(axis, range_of(all, axis.logarithmic), ticks);
}

void draw_series(Canvas& canvas, const LineSeries& s, size_t number, const Scale& x,
                 const Scale& y) {
  bool connected = false;
  double last_x = 0, last_y = 0;
  for (size_t i = 0; i < s.x.size(); ++i) {
    const double px = x(s.x[i]), py = y(s.y[i]);
    const bool known = std::isfinite(px) && std::isfinite(py);
    if (known) canvas.line(connected ? last_x : px, connected ? last_y : py, px, py, number);
    connected = known && s.joined;
    last_x = px;
    last_y = py;
  }
}

// The labels of the y axis, each on the row of its value.
std::vector<std::string> y_labels(const Scale& y) {
  std::vector<std::string> labels(kRows);
  for (const Tick& tick : y.ticks()) {
    const double row = (1 - y(tick.value)) * static_cast<double>(kRows - 1) + 0.5;
    labels[static_cast<size_t>(row)] = tick.label;
  }
  return labels;
}

// Labels under their places, those left out that would touch the one before.
std::string x_labels(const Scale& x, size_t left, size_t width) {
  std::string line;
  for (const Tick& tick : x.ticks()) {
    const size_t size = columns_of(tick.label);
    const size_t middle =
        left + static_cast<size_t>(x(tick.value) * static_cast<double>(width - 1) + 0.5);
    const size_t begin = std::min(middle - std::min(middle, size / 2), left + width - size);
    if (!line.empty() && begin < line.size() + 1) continue;
    line += std::string(begin - line.size(), ' ') + tick.label;
  }
  return line;
}

void add_names(TextBlock& block, const LineChart& chart, const TextOptions& options) {
  if (chart.series.size() < 2) return;
  std::string line;
  size_t columns = 0;
  for (size_t s = 0; s < chart.series.size(); ++s) {
    const std::string name = cut(visible(chart.series[s].name), options.width / 2);
    const std::string sign = options.colour ? "─" : std::string(1, kMarks[s % kMarks.size()]);
    const size_t size = columns_of(name) + 2;
    if (columns > 0 && columns + 3 + size > options.width) {
      block.add(std::move(line), columns);
      line.clear();
      columns = 0;
    }
    if (columns > 0) line += "   ", columns += 3;
    line += (options.colour ? foreground(series_colour(s, true), sign) : sign) + ' ' + name;
    columns += size;
  }
  block.add(std::move(line), columns);
}

}  // namespace

TextBlock draw_text(const LineChart& chart, const TextOptions& options) {
  TextBlock block;
  if (!chart.title.empty()) block.add(cut(visible(chart.title), options.width));
  add_names(block, chart, options);
  const std::string x_title = axis_title(chart.x), y_title = axis_title(chart.y);
  if (!y_title.empty()) block.add(cut(visible(y_title), options.width));
  const bool marks = chart.series.size() > 1 && !options.colour;
  const Scale y = scale_for(chart, false, kRows / 2);
  const std::vector<std::string> labels = y_labels(y);
  size_t left = 0;
  for (const std::string& label : labels) left = std::max(left, columns_of(label));
  const size_t width = options.width - left - 2;
  const Scale x = scale_for(chart, true, width / 10);
  Canvas canvas(width, kRows, marks);
  for (size_t s = 0; s < chart.series.size(); ++s) draw_series(canvas, chart.series[s], s, x, y);
  for (size_t r = 0; r < kRows; ++r) {
    block.add(concat(pad_left(labels[r], left), labels[r].empty() ? " │" : " ┤",
                     canvas.row(r, options.colour)),
              left + 2 + width);
  }
  block.add(concat(std::string(left + 1, ' '), "└", repeat("─", width)));
  block.add(x_labels(x, left + 2, width));
  if (!x_title.empty()) {
    block.add(std::string(left + 2, ' ') + centre(visible(x_title), width));
  }
  return block;
}

}  // namespace rapt::plot

#include <algorithm>
#include <cmath>
#include <numbers>

#include "rapt/base/check.h"
#include "rapt/plot/colour.h"
#include "rapt/plot/label.h"
#include "rapt/plot/scale.h"
#include "rapt/plot/svg_panels.h"

namespace rapt::plot {
namespace {

constexpr size_t kLongestLabel = 24;  // columns; the rest is cut
constexpr double kGap = 4;            // between the matrix and its labels

std::string shown(const std::string& label) { return cut(visible(label), kLongestLabel); }

// To two decimals, or three digits where that is more.
std::string cell_number(double v) {
  return format_value(std::fabs(v) < 10 ? std::round(v * 100) / 100 : v, 3);
}

double widest_number(const HeatMap& map) {
  double width = 0;
  for (const double v : map.values) {
    if (std::isfinite(v)) width = std::max(width, text_width(cell_number(v), kLabelSize));
  }
  return width;
}

double widest(const std::vector<std::string>& labels, double size) {
  double width = 0;
  for (const std::string& l : labels) width = std::max(width, text_width(shown(l), size));
  return width;
}

// Every how many labels one is drawn, so that neighbours keep `spacing` pixels.
size_t stride(double spacing, double cell) {
  return std::max<size_t>(1, static_cast<size_t>(std::ceil(spacing / cell - 1e-9)));
}

struct Layout {
  double cell, size;  // of a cell and of the labels' font
  double left = 0, top = 0, bottom = 2;
  double column_angle = 0;
  size_t row_stride = 1, column_stride = 1;
};

// Labels of columns lie where they fit, else they are slanted, in small panels upright.
void place_column_labels(const HeatMap& map, const HeatStyle& style, Layout& l) {
  const double width = widest(map.columns, l.size);
  if (width <= l.cell - 2) {
    l.bottom += kGap + 1.2 * l.size;
    return;
  }
  l.column_angle = style.small ? -90 : -45;
  const double sine = style.small ? 1 : std::numbers::sqrt2 / 2;
  l.column_stride = stride(1.15 * l.size / sine, l.cell);
  l.bottom += kGap + sine * (width + l.size);
  // Slanted labels end below their column and begin to the left of it.
  if (!style.small) l.left = std::max(l.left, sine * width - l.cell / 2 + kGap);
}

Layout lay_out(const HeatMap& map, const HeatStyle& style) {
  Layout l;
  const double longest =
      static_cast<double>(std::max({map.rows.size(), map.columns.size(), size_t{1}}));
  l.cell = map.numbers   ? std::max(36.0, widest_number(map) + 8)
           : style.small ? std::clamp(160 / longest, 3.0, 14.0)
                         : std::clamp(480 / longest, 16.0, 36.0);
  l.size = style.small ? kSmallSize : kLabelSize;
  l.row_stride = stride(1.15 * l.size, l.cell);
  if (style.row_labels) l.left = widest(map.rows, l.size) + kGap;
  if (style.column_labels) place_column_labels(map, style, l);
  if (!map.title.empty()) l.top = style.small ? 16 : kTitleHeight;
  if (style.axis_names && !map.row_axis.empty()) l.left += kAxisNameHeight;
  if (style.axis_names && !map.column_axis.empty()) l.bottom += kAxisNameHeight;
  return l;
}

std::string level_style(double v, Range range) {
  return std::isfinite(v) ? concat('v', level_of(v, range)) : "none";
}

// Neighbours of one colour are one rectangle unless each has a text of its own.
void draw_cells(SvgWriter& svg, const HeatMap& map, const HeatStyle& style, const Layout& l) {
  const size_t columns = map.columns.size();
  for (size_t r = 0; r < map.rows.size(); ++r) {
    for (size_t c = 0, end = 0; c < columns; c = end) {
      const double v = map.values[r * columns + c];
      const std::string level = level_style(v, style.range);
      std::string hover;
      end = c + 1;
      if (style.hover) {
        hover = concat(visible(map.rows[r]), " \u2192 ", visible(map.columns[c]), ": ",
                       std::isfinite(v) ? format_value(v) : "no value");
      } else {
        while (end < columns && level_style(map.values[r * columns + end], style.range) == level) {
          ++end;
        }
      }
      svg.rect(l.left + static_cast<double>(c) * l.cell, l.top + static_cast<double>(r) * l.cell,
               static_cast<double>(end - c) * l.cell, l.cell, level, hover);
    }
  }
}

// Dark cells have the light of the ground for their ink.
void draw_numbers(SvgWriter& svg, const HeatMap& map, const HeatStyle& style, const Layout& l) {
  for (size_t i = 0; i < map.values.size(); ++i) {
    const double v = map.values[i];
    if (!std::isfinite(v)) continue;
    const double row = static_cast<double>(i / map.columns.size());
    const double column = static_cast<double>(i % map.columns.size());
    const bool dark = level_of(v, style.range) >= kLevels / 2;
    svg.text(l.left + (column + 0.5) * l.cell, l.top + (row + 0.5) * l.cell + 0.35 * kLabelSize,
             cell_number(v), dark ? "label over" : "label", Anchor::kMiddle);
  }
}

void draw_labels(SvgWriter& svg, const HeatMap& map, const HeatStyle& style, const Layout& l,
                 double bottom) {
  const std::string_view font = style.small ? "small" : "label";
  const auto middle = [&](size_t i) { return (static_cast<double>(i) + 0.5) * l.cell; };
  for (size_t r = 0; style.row_labels && r < map.rows.size(); r += l.row_stride) {
    svg.text(l.left - kGap, l.top + middle(r) + 0.35 * l.size, shown(map.rows[r]), font,
             Anchor::kEnd);
  }
  for (size_t c = 0; style.column_labels && c < map.columns.size(); c += l.column_stride) {
    const double x = l.left + middle(c);
    if (l.column_angle == 0) {
      svg.text(x, bottom + kGap + l.size, shown(map.columns[c]), font, Anchor::kMiddle);
    } else {
      const double shift = 0.35 * l.size;
      svg.text(x + shift, bottom + kGap + (style.small ? 0 : shift), shown(map.columns[c]), font,
               Anchor::kEnd, l.column_angle);
    }
  }
}

}  // namespace

double text_width(std::string_view text, double size) { return em_width(text) * size; }

Block draw(const HeatMap& map, const HeatStyle& style) {
  const Layout l = lay_out(map, style);
  const double inner_width = l.cell * static_cast<double>(map.columns.size());
  const double inner_height = l.cell * static_cast<double>(map.rows.size());
  const double bottom = l.top + inner_height;
  double width =
      std::max(inner_width, text_width(map.title, style.small ? kLabelSize : kTitleSize));
  double height = bottom + l.bottom;

  SvgWriter svg;
  svg.text(l.left, style.small ? 11 : kTitleSize, map.title,
           style.small ? "label strong" : "title");
  draw_cells(svg, map, style, l);
  if (map.numbers) draw_numbers(svg, map, style, l);
  if (map.values.empty()) {
    svg.text(l.left, l.top + kLabelSize, "no data", "label");
    width = std::max(width, text_width("no data", kLabelSize));
    height = std::max(height, l.top + 2 * kLabelSize);
  } else {
    svg.rect(l.left, l.top, inner_width, inner_height, "frame");
  }
  draw_labels(svg, map, style, l, bottom);
  if (style.axis_names) {
    const double across = text_width(map.column_axis, kLabelSize);
    const double along = text_width(map.row_axis, kLabelSize);
    // A name longer than its side starts where the side does.
    svg.text(kLabelSize, l.top + std::max(inner_height, along) / 2, map.row_axis, "label strong",
             Anchor::kMiddle, -90);
    svg.text(l.left + std::max(inner_width, across) / 2, bottom + l.bottom - 6, map.column_axis,
             "label strong", Anchor::kMiddle);
    width = std::max(width, across);
    height = std::max(height, l.top + along);
  }
  return svg.finish(l.left + width + 2, height);
}

Block colour_legend(Range range, std::string_view label, double height) {
  constexpr double kWidth = 14, kTop = 8;
  const double bar = std::clamp(height - 2 * kTop, 60.0, 240.0);
  const Scale scale({.label = "colours", .range = range}, range, 5);
  SvgWriter svg;
  const double step = bar / kLevels;
  for (size_t i = 0; i < kLevels; ++i) {
    svg.rect(0, kTop + bar - static_cast<double>(i + 1) * step, kWidth, step, concat('v', i));
  }
  svg.rect(0, kTop, kWidth, bar, "frame");
  double width = 0;
  for (const Tick& tick : scale.ticks()) {
    const double y = kTop + bar * (1 - scale(tick.value));
    svg.line(kWidth, y, kWidth + 4, y, "axis");
    svg.text(kWidth + 7, y + 0.35 * kLabelSize, tick.label, "label");
    width = std::max(width, text_width(tick.label, kLabelSize));
  }
  width += kWidth + 7;
  if (!label.empty()) {
    svg.text(width + kLabelSize + 4, kTop + bar / 2, label, "label", Anchor::kMiddle, -90);
    width += kLabelSize + 8;
  }
  const double text = label.empty() ? 0 : text_width(label, kLabelSize);
  return svg.finish(width, std::max(bar, (bar + text) / 2) + 2 * kTop);
}

}  // namespace rapt::plot

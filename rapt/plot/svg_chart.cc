#include <algorithm>
#include <array>
#include <cmath>

#include "rapt/base/check.h"
#include "rapt/plot/colour.h"
#include "rapt/plot/label.h"
#include "rapt/plot/scale.h"
#include "rapt/plot/svg_panels.h"

namespace rapt::plot {
namespace {

constexpr size_t kLongestCategory = 32;  // columns; the rest is cut
constexpr double kTickLength = 4, kTickGap = 7, kBar = 14, kGroupGap = 10, kRim = 4;
constexpr size_t kMostMarkers = 40;  // points of a line that are marked one by one

double widest_label(const Scale& scale) {
  double width = 0;
  for (const Tick& tick : scale.ticks()) {
    width = std::max(width, text_width(tick.label, kLabelSize));
  }
  return width;
}

size_t ticks_within(double pixels, double each) {
  return std::clamp<size_t>(static_cast<size_t>(pixels / each), 2, 10);
}

// The area within the axes, in pixels of the block.
struct Area {
  double left, top, width, height;
  double right() const { return left + width; }
  double bottom() const { return top + height; }
};

void draw_x_axis(SvgWriter& svg, const Scale& scale, const Area& a, const std::string& title) {
  for (const Tick& tick : scale.ticks()) {
    const double x = a.left + a.width * scale(tick.value);
    svg.line(x, a.top, x, a.bottom(), "grid");
    svg.line(x, a.bottom(), x, a.bottom() + kTickLength, "axis");
    svg.text(x, a.bottom() + kTickGap + kLabelSize - 2, tick.label, "label", Anchor::kMiddle);
  }
  svg.line(a.left, a.bottom(), a.right(), a.bottom(), "axis");
  svg.text(a.left + a.width / 2, a.bottom() + kTickGap + 2 * kLabelSize + 6, title, "label strong",
           Anchor::kMiddle);
}

double x_axis_height(const std::string& title) {
  return kTickGap + kLabelSize + 4 + (title.empty() ? 0 : kAxisNameHeight);
}

// Half the last label of the x axis may stand out on the right, or the title above.
double right_margin(const Scale& x, const Area& a, const std::string& title,
                    const std::string& axis) {
  const double last = x.ticks().empty() ? 0 : text_width(x.ticks().back().label, kLabelSize) / 2;
  return std::max({last + 2, text_width(title, kTitleSize) - a.width,
                   (text_width(axis, kLabelSize) - a.width) / 2});
}

Range bar_range(const Bars& bars) {
  std::vector<const std::vector<double>*> all;
  for (const BarSeries& s : bars.series) all.insert(all.end(), {&s.values, &s.low, &s.high});
  const std::vector<double> zero = {0};
  if (!bars.value.logarithmic) all.push_back(&zero);
  return range_of(all, bars.value.logarithmic);
}

// Where a value lies in the area; values off the axis are put at its end.
double x_of(const Scale& scale, const Area& a, double v) {
  return a.left + a.width * std::clamp(scale(v), 0.0, 1.0);
}

void draw_bar(SvgWriter& svg, const Bars& bars, size_t series, size_t category, const Scale& scale,
              const Area& a, double y) {
  const BarSeries& s = bars.series[series];
  const double value = s.values[category];
  const std::string category_name = visible(bars.categories[category]);
  if (!std::isfinite(scale(value))) {
    svg.text(a.left + 4, y + kBar / 2 + 0.35 * kSmallSize, "no value", "small");
    return;
  }
  const double origin = bars.value.logarithmic ? a.left : x_of(scale, a, 0);
  const double end = x_of(scale, a, value);
  const std::string number = format_short(value);
  svg.rect(std::min(origin, end), y + 1, std::fabs(end - origin), kBar - 2,
           concat('b', series % kSeriesColours),
           concat(category_name, s.name.empty() ? "" : ", ", s.name, ": ", number));
  double text_at = std::max(origin, end);
  if (!s.low.empty() && std::isfinite(scale(s.low[category])) &&
      std::isfinite(scale(s.high[category]))) {
    const double low = x_of(scale, a, s.low[category]), high = x_of(scale, a, s.high[category]);
    const double middle = y + kBar / 2;
    svg.line(low, middle, high, middle, "whisker");
    for (const double x : {low, high}) svg.line(x, middle - 3, x, middle + 3, "whisker");
    text_at = std::max(text_at, high);
  }
  svg.text(text_at + 5, y + kBar / 2 + 0.35 * kSmallSize, number, "small");
}

// Commands of a path through the points; of those in the same half pixel only the first, lowest,
// highest and last are kept, so that a run of a million steps stays a small file.
class PathBuilder {
 public:
  void add(double x, double y) {
    const double column = std::floor(x * 2);
    if (!points_.empty() && column == column_) {
      points_.push_back({x, y});
    } else {
      flush();
      column_ = column;
      points_ = {{x, y}};
    }
  }
  void interrupt() {
    flush();
    pen_down_ = false;
  }
  std::string finish() {
    flush();
    return std::move(commands_);
  }

 private:
  struct Point {
    double x, y;
  };
  void flush() {
    if (points_.size() > 4) {
      const auto below = [](Point p, Point q) { return p.y < q.y; };
      auto [low, high] = std::minmax_element(points_.begin(), points_.end(), below);
      if (high < low) std::swap(low, high);
      points_ = {points_.front(), *low, *high, points_.back()};
    }
    for (const Point p : points_) {
      commands_ += concat(pen_down_ ? 'L' : 'M', coordinate(p.x), ' ', coordinate(p.y));
      pen_down_ = true;
    }
    points_.clear();
  }

  std::vector<Point> points_;
  double column_ = 0;
  bool pen_down_ = false;
  std::string commands_;
};

// From low to high of point i, at px.
void draw_interval(SvgWriter& svg, const LineSeries& s, size_t i, double px, const Scale& y,
                   const Area& a, size_t number) {
  const double low = kRim + a.height * (1 - y(s.low[i]));
  const double high = kRim + a.height * (1 - y(s.high[i]));
  if (!std::isfinite(low) || !std::isfinite(high)) return;
  const std::string style = concat("interval c", number % kSeriesColours);
  svg.line(px, low, px, high, style);
  for (const double end : {low, high}) svg.line(px - 3, end, px + 3, end, style);
}

void draw_line(SvgWriter& svg, const LineSeries& s, size_t number, const Scale& x, const Scale& y,
               const Area& a) {
  const bool marked = !s.joined || s.x.size() <= kMostMarkers;
  PathBuilder path;
  SvgWriter marks;
  for (size_t i = 0; i < s.x.size(); ++i) {
    const double px = kRim + a.width * x(s.x[i]), py = kRim + a.height * (1 - y(s.y[i]));
    if (!std::isfinite(px) || !std::isfinite(py)) {
      path.interrupt();
      continue;
    }
    path.add(px, py);
    if (!s.low.empty()) draw_interval(marks, s, i, px, y, a, number);
    if (!marked) continue;
    marks.circle(px, py, s.joined ? 2.5 : 4, concat("dot b", number % kSeriesColours),
                 concat(s.name, s.name.empty() ? "" : ": ", format_value(s.x[i], 6), ", ",
                        format_value(s.y[i], 6)));
  }
  if (s.joined) svg.path(path.finish(), concat("line c", number % kSeriesColours));
  svg.block(0, 0, marks.finish(0, 0));
}

Scale scale_for(const LineChart& chart, bool of_x, size_t ticks) {
  const Axis& axis = of_x ? chart.x : chart.y;
  std::vector<const std::vector<double>*> all;
  for (const LineSeries& s : chart.series) {
    if (of_x) {
      all.push_back(&s.x);
    } else {
      all.insert(all.end(), {&s.y, &s.low, &s.high});
    }
  }
  return Scale(axis, range_of(all, axis.logarithmic), ticks);
}

std::vector<LegendItem> legend_of(const Bars& bars) {
  std::vector<LegendItem> items;
  for (const BarSeries& s : bars.series) items.push_back({s.name, Sign::kBar});
  return items;
}
std::vector<LegendItem> legend_of(const LineChart& chart) {
  std::vector<LegendItem> items;
  for (const LineSeries& s : chart.series) {
    items.push_back({s.name, s.joined ? Sign::kLine : Sign::kDot});
  }
  return items;
}

}  // namespace

Block series_legend(const std::vector<LegendItem>& items, double width) {
  if (items.size() < 2) return {};
  constexpr double kGap = 6, kBetween = 16, kLine = 17;
  SvgWriter svg;
  double x = 0, y = 0, right = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    const Sign sign = items[i].sign;
    const double sign_width = sign == Sign::kLine ? 24 : 14;
    const std::string name = cut(visible(items[i].name), kLongestCategory);
    const double item = sign_width + kGap + text_width(name, kLabelSize);
    if (x > 0 && x + item > width) x = 0, y += kLine;
    const double middle = y + kLine / 2;
    if (sign == Sign::kBar) {
      svg.rect(x, middle - 5, sign_width, 10, concat('b', i % kSeriesColours));
    } else if (sign == Sign::kDot) {
      svg.circle(x + sign_width / 2, middle, 4, concat("dot b", i % kSeriesColours));
    } else {
      svg.line(x, middle, x + sign_width, middle, concat("line c", i % kSeriesColours));
    }
    svg.text(x + sign_width + kGap, middle + 0.35 * kLabelSize, name, "label");
    right = std::max(right, x + item);
    x += item + kBetween;
  }
  return svg.finish(right, y + kLine + 6);
}

Block draw(const Bars& bars, const ChartStyle& style) {
  const Scale scale(bars.value, bar_range(bars), ticks_within(style.width, 65));
  const std::string title = axis_title(bars.value);
  const double names = bars.category_axis.empty() ? 0 : kAxisNameHeight;
  double left = 0;
  for (const std::string& c : bars.categories) {
    left = std::max(left, text_width(cut(visible(c), kLongestCategory), kLabelSize));
  }
  const double group = kBar * static_cast<double>(bars.series.size()) + kGroupGap;
  const double groups = static_cast<double>(bars.categories.size());
  const Block legend = series_legend(legend_of(bars), style.width);
  const double top = (bars.title.empty() ? 4 : kTitleHeight) + legend.height;
  const Area a = {left + kTickGap + names, top, style.width, std::max(groups * group, 2 * kBar)};

  SvgWriter svg;
  svg.text(a.left, kTitleSize, bars.title, "title");
  svg.block(a.left, top - legend.height, legend);
  draw_x_axis(svg, scale, a, title);
  for (size_t c = 0; c < bars.categories.size(); ++c) {
    const double y = a.top + static_cast<double>(c) * group + kGroupGap / 2;
    svg.text(a.left - kTickGap, y + (group - kGroupGap) / 2 + 0.35 * kLabelSize,
             cut(visible(bars.categories[c]), kLongestCategory), "label", Anchor::kEnd);
    for (size_t s = 0; s < bars.series.size(); ++s) {
      draw_bar(svg, bars, s, c, scale, a, y + static_cast<double>(s) * kBar);
    }
  }
  if (bars.categories.empty() || bars.series.empty()) {
    svg.text(a.left + 4, a.top + kBar + 4, "no data", "label");
  }
  const double origin = bars.value.logarithmic ? a.left : x_of(scale, a, 0);
  svg.line(origin, a.top, origin, a.bottom(), "axis");
  const double along = text_width(bars.category_axis, kLabelSize);
  svg.text(kLabelSize, a.top + std::max(a.height, along) / 2, bars.category_axis, "label strong",
           Anchor::kMiddle, -90);
  // Room for the number behind the longest bar.
  const double right = std::max(right_margin(scale, a, bars.title, title), 6 * kSmallSize);
  return svg.finish(std::max(a.right() + right, a.left + legend.width),
                    std::max(a.bottom() + x_axis_height(title), a.top + along));
}

Block draw(const LineChart& chart, const ChartStyle& style) {
  const Scale y = scale_for(chart, false, ticks_within(style.height, 40));
  const Scale x = scale_for(chart, true, ticks_within(style.width, 65));
  const std::string x_title = axis_title(chart.x), y_title = axis_title(chart.y);
  const Block legend = series_legend(legend_of(chart), style.width);
  const double top = (chart.title.empty() ? 8 : kTitleHeight) + legend.height;
  const double names = y_title.empty() ? 0 : kAxisNameHeight;
  const Area a = {widest_label(y) + kTickGap + 2 + names, top, style.width, style.height};

  SvgWriter svg;
  svg.text(a.left, kTitleSize, chart.title, "title");
  svg.block(a.left, top - legend.height, legend);
  draw_x_axis(svg, x, a, x_title);
  for (const Tick& tick : y.ticks()) {
    const double at = a.bottom() - a.height * y(tick.value);
    svg.line(a.left, at, a.right(), at, "grid");
    svg.line(a.left - kTickLength, at, a.left, at, "axis");
    svg.text(a.left - kTickGap, at + 0.35 * kLabelSize, tick.label, "label", Anchor::kEnd);
  }
  svg.line(a.left, a.top, a.left, a.bottom(), "axis");
  svg.text(kLabelSize, a.top + a.height / 2, y_title, "label strong", Anchor::kMiddle, -90);
  // A little wider than the area: marks on its rim stay whole.
  svg.open_window(a.left - kRim, a.top - kRim, a.width + 2 * kRim, a.height + 2 * kRim);
  for (size_t s = 0; s < chart.series.size(); ++s) draw_line(svg, chart.series[s], s, x, y, a);
  if (chart.series.empty()) svg.text(4, kLabelSize + 4, "no data", "label");
  svg.close_window();
  const double right = right_margin(x, a, chart.title, x_title);
  return svg.finish(std::max(a.right() + right, a.left + legend.width),
                    a.bottom() + x_axis_height(x_title));
}

}  // namespace rapt::plot

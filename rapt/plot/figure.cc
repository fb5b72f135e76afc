#include "rapt/plot/figure.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "rapt/base/check.h"

namespace rapt::plot {
namespace {

void check_panel(const HeatMap& p, size_t number) {
  check(p.values.size() == p.rows.size() * p.columns.size(), "plot: panel ", number, " '", p.title,
        "' has ", p.values.size(), " values for ", p.rows.size(), " rows and ", p.columns.size(),
        " columns");
}

void check_panel(const Bars& p, size_t number) {
  for (const BarSeries& s : p.series) {
    const auto fits = [&](const std::vector<double>& v, bool may_lack) {
      return v.size() == p.categories.size() || (may_lack && v.empty());
    };
    check(fits(s.values, false) && fits(s.low, true) && fits(s.high, true) &&
              s.low.size() == s.high.size(),
          "plot: panel ", number, " '", p.title, "', series '", s.name, "' has ", s.values.size(),
          " values, ", s.low.size(), " lower and ", s.high.size(), " upper ends for ",
          p.categories.size(), " categories");
  }
}

void check_panel(const LineChart& p, size_t number) {
  for (const LineSeries& s : p.series) {
    check(s.x.size() == s.y.size(), "plot: panel ", number, " '", p.title, "', series '", s.name,
          "' has ", s.x.size(), " x for ", s.y.size(), " y");
    check((s.low.empty() || s.low.size() == s.y.size()) && s.low.size() == s.high.size(),
          "plot: panel ", number, " '", p.title, "', series '", s.name, "' has ", s.low.size(),
          " lower and ", s.high.size(), " upper ends for ", s.y.size(), " points");
  }
}

Range own_range(const HeatMap& p) { return p.range.value_or(range_of({&p.values})); }

}  // namespace

void check_figure(const Figure& figure) {
  check(figure.columns > 0, "plot: 0 columns of panels, expected at least one");
  for (size_t i = 0; i < figure.panels.size(); ++i) {
    std::visit([&](const auto& panel) { check_panel(panel, i + 1); }, figure.panels[i]);
  }
}

const std::string& title_of(const Panel& panel) {
  return std::visit([](const auto& p) -> const std::string& { return p.title; }, panel);
}

std::string axis_title(const Axis& axis) {
  if (axis.unit.empty()) return axis.label;
  return axis.label.empty() ? axis.unit : axis.label + " (" + axis.unit + ")";
}

Range range_of(const std::vector<const std::vector<double>*>& values, bool positive) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const std::vector<double>* part : values) {
    for (const double v : *part) {
      if (!std::isfinite(v) || (positive && v <= 0)) continue;
      low = std::min(low, v);
      high = std::max(high, v);
    }
  }
  if (low > high) return positive ? Range{1, 10} : Range{0, 1};
  if (high - low > 1e-12 * std::max(std::fabs(low), std::fabs(high))) return {low, high};
  const double margin = low == 0 ? 1 : 0.1 * std::fabs(low);
  return {low - margin, high + margin};
}

std::vector<Range> colour_ranges(const Figure& figure) {
  std::vector<const std::vector<double>*> all;
  for (const Panel& panel : figure.panels) {
    const HeatMap* map = std::get_if<HeatMap>(&panel);
    if (map != nullptr && !map->range) all.push_back(&map->values);
  }
  const Range shared = range_of(all);
  std::vector<Range> ranges;
  for (const Panel& panel : figure.panels) {
    const HeatMap* map = std::get_if<HeatMap>(&panel);
    ranges.push_back(map == nullptr                       ? Range{}
                     : figure.shared_scale && !map->range ? shared
                                                          : own_range(*map));
  }
  return ranges;
}

bool labels_are_shared(const Figure& figure) {
  const HeatMap* first = figure.panels.empty() ? nullptr : std::get_if<HeatMap>(&figure.panels[0]);
  if (first == nullptr) return false;
  return std::all_of(figure.panels.begin(), figure.panels.end(), [&](const Panel& panel) {
    const HeatMap* map = std::get_if<HeatMap>(&panel);
    return map != nullptr && map->rows == first->rows && map->columns == first->columns &&
           map->row_axis == first->row_axis && map->column_axis == first->column_axis;
  });
}

}  // namespace rapt::plot

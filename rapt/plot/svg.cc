#include "rapt/plot/svg.h"

#include <algorithm>

#include "rapt/base/check.h"
#include "rapt/plot/colour.h"
#include "rapt/plot/label.h"
#include "rapt/plot/svg_panels.h"

namespace rapt::plot {
namespace {

constexpr double kMargin = 16, kGap = 20, kSmallGap = 10;
constexpr size_t kMostHovers = 5000;  // cells; beyond, the values under the pointer are left out

constexpr const char* kFonts =
    "'Noto Sans','Noto Sans KR','Noto Sans CJK KR',NanumGothic,'DejaVu Sans','Helvetica Neue',"
    "Arial,sans-serif";

// Lines differ by their strokes too: black and white print has no colours.
constexpr const char* kDashes[kSeriesColours] = {"none", "7 3",         "2 3", "9 3 2 3",
                                                 "12 4", "5 2 1 2 1 2", "4 4"};

std::string rules(bool dark) {
  const char* ground = dark ? "#15171c" : "#ffffff";
  const char* ink = dark ? "#e4e6eb" : "#1c1e21";
  const char* faint = dark ? "#34373f" : "#e3e5e8";
  const char* line = dark ? "#8b909c" : "#6b7078";
  std::string css =
      concat(".ground{fill:", ground, "}text{fill:", ink, "}.grid{stroke:", faint,
             "}.axis{stroke:", line, "}.frame{stroke:", line, "}.whisker{stroke:", ink,
             "}.none{fill:", faint, "}.dot{stroke:", ground, "}.over{fill:", ground, "}\n");
  for (size_t i = 0; i < kLevels; ++i) {
    css += concat(".v", i, "{fill:", hex(level_colour(i, dark)), '}');
  }
  css += '\n';
  for (size_t i = 0; i < kSeriesColours; ++i) {
    const std::string colour = hex(series_colour(i, dark));
    css += concat(".b", i, "{fill:", colour, "}.c", i, "{stroke:", colour, '}');
  }
  return css + '\n';
}

std::string style_sheet(Theme theme) {
  std::string css = concat(
      "text{font-family:", kFonts, ";font-size:", kLabelSize, "px}.title{font-size:", kTitleSize,
      "px;font-weight:600}.head{font-size:15px;font-weight:600}.small{font-size:", kSmallSize,
      "px}.strong{font-weight:600}\n.grid,.axis,.frame,.whisker{fill:none;stroke-width:1}"
      ".line{fill:none;stroke-width:1.8;stroke-linejoin:round}.interval{fill:none;stroke-width:1;"
      "stroke-dasharray:none!important}rect{shape-rendering:crispEdges}\n");
  for (size_t i = 1; i < kSeriesColours; ++i) {
    css += concat(".c", i, "{stroke-dasharray:", kDashes[i], '}');
  }
  css += '\n' + rules(theme == Theme::kDark);
  if (theme == Theme::kAuto) {
    css += "@media (prefers-color-scheme:dark){\n" + rules(true) + "}\n";
  }
  return css;
}

// One legend serves when all panels are heat maps and mean the same by a colour.
bool legend_is_shared(const Figure& figure, const std::vector<Range>& ranges) {
  for (size_t i = 0; i < figure.panels.size(); ++i) {
    const HeatMap* map = std::get_if<HeatMap>(&figure.panels[i]);
    if (map == nullptr || !(ranges[i] == ranges[0]) ||
        map->value_label != std::get<HeatMap>(figure.panels[0]).value_label) {
      return false;
    }
  }
  return !figure.panels.empty();
}

size_t cells_of(const Figure& figure) {
  size_t cells = 0;
  for (const Panel& panel : figure.panels) {
    if (const HeatMap* map = std::get_if<HeatMap>(&panel)) cells += map->values.size();
  }
  return cells;
}

Block beside(const Block& left, const Block& right) {
  SvgWriter svg;
  svg.block(0, 0, left);
  svg.block(left.width + kGap, 0, right);
  return svg.finish(left.width + kGap + right.width, std::max(left.height, right.height));
}

// The panels in rows and columns, the names of shared axes at the rim.
class Grid {
 public:
  explicit Grid(const Figure& figure)
      : figure_(figure),
        ranges_(colour_ranges(figure)),
        columns_(std::min(figure.columns, std::max<size_t>(figure.panels.size(), 1))),
        small_(figure.panels.size() > 2 && labels_are_shared(figure)),
        shared_legend_(legend_is_shared(figure, ranges_)) {}

  Block draw_all() const {
    std::vector<Block> blocks;
    for (size_t i = 0; i < figure_.panels.size(); ++i) {
      blocks.push_back(
          std::visit([&](const auto& p) { return draw_panel(p, i); }, figure_.panels[i]));
    }
    Block grid = arrange(blocks);
    if (small_) grid = with_axis_names(grid);
    if (!shared_legend_ || std::get<HeatMap>(figure_.panels[0]).numbers) return grid;
    const std::string& label = std::get<HeatMap>(figure_.panels[0]).value_label;
    return beside(grid, colour_legend(ranges_[0], label, grid.height));
  }

 private:
  Block draw_panel(const HeatMap& map, size_t i) const {
    const HeatStyle style = {.range = ranges_[i],
                             .small = small_,
                             .row_labels = !small_ || i % columns_ == 0,
                             .column_labels = !small_ || i + columns_ >= figure_.panels.size(),
                             .axis_names = !small_,
                             .hover = cells_of(figure_) <= kMostHovers};
    const Block block = draw(map, style);
    if (shared_legend_ || map.numbers) return block;
    return beside(block, colour_legend(ranges_[i], map.value_label, block.height));
  }
  template <class Chart>
  Block draw_panel(const Chart& chart, size_t) const {
    return draw(chart, columns_ == 1 ? ChartStyle{} : ChartStyle{340, 200});
  }

  Block arrange(const std::vector<Block>& blocks) const {
    const double gap = small_ ? kSmallGap : kGap;
    std::vector<double> widths(columns_), heights((blocks.size() + columns_ - 1) / columns_);
    for (size_t i = 0; i < blocks.size(); ++i) {
      widths[i % columns_] = std::max(widths[i % columns_], blocks[i].width);
      heights[i / columns_] = std::max(heights[i / columns_], blocks[i].height);
    }
    SvgWriter svg;
    double y = 0, right = 0;
    for (size_t row = 0; row < heights.size(); ++row) {
      double x = 0;
      for (size_t c = 0; c < columns_ && row * columns_ + c < blocks.size(); ++c) {
        svg.block(x, y, blocks[row * columns_ + c]);
        x += widths[c] + gap;
      }
      right = std::max(right, x - gap);
      y += heights[row] + gap;
    }
    return svg.finish(right, heights.empty() ? 0 : y - gap);
  }

  Block with_axis_names(const Block& grid) const {
    const HeatMap& map = std::get<HeatMap>(figure_.panels[0]);
    const double left = map.row_axis.empty() ? 0 : kAxisNameHeight;
    const double bottom = map.column_axis.empty() ? 0 : kAxisNameHeight;
    const double width = std::max(grid.width, text_width(map.column_axis, kLabelSize));
    const double height = std::max(grid.height, text_width(map.row_axis, kLabelSize));
    SvgWriter svg;
    svg.block(left, 0, grid);
    svg.text(kLabelSize, height / 2, map.row_axis, "label strong", Anchor::kMiddle, -90);
    svg.text(left + width / 2, height + bottom - 5, map.column_axis, "label strong",
             Anchor::kMiddle);
    return svg.finish(left + width, height + bottom);
  }

  const Figure& figure_;
  std::vector<Range> ranges_;
  size_t columns_;
  bool small_, shared_legend_;
};

// Lines of words that fit a width; a word that does not fit has a line of its own.
std::vector<std::string> wrap(const std::string& text, double width) {
  std::vector<std::string> lines;
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (!lines.empty() && text_width(lines.back() + ' ' + word, kLabelSize) <= width) {
      lines.back() += ' ' + word;
    } else if (!word.empty()) {
      lines.push_back(word);
    }
    at = end + 1;
  }
  return lines;
}

}  // namespace

std::string to_svg(const Figure& figure, Theme theme, double shown_width) {
  check_figure(figure);
  const Block grid = Grid(figure).draw_all();
  const double head = figure.title.empty() ? 0 : 28;
  const double inner = std::max({grid.width, text_width(figure.title, 15), 240.0});
  const std::vector<std::string> caption = wrap(figure.caption, inner);
  const double foot = caption.empty() ? 0 : 12 + 16 * static_cast<double>(caption.size());

  SvgWriter svg;
  const double width = inner + 2 * kMargin, height = grid.height + head + foot + 2 * kMargin;
  svg.rect(0, 0, width, height, "ground");
  svg.text(kMargin, kMargin + 13, figure.title, "head");
  svg.block(kMargin, kMargin + head, grid);
  for (size_t i = 0; i < caption.size(); ++i) {
    svg.text(kMargin, kMargin + head + grid.height + 22 + 16 * static_cast<double>(i), caption[i],
             "label");
  }
  const double zoom = shown_width > 0 ? shown_width / width : 1;
  const std::string size =
      concat("width=\"", coordinate(zoom * width), "\" height=\"", coordinate(zoom * height),
             "\" viewBox=\"0 0 ", coordinate(width), ' ', coordinate(height), '"');
  const std::string name = figure.title.empty() ? "figure" : figure.title;
  return concat("<svg xmlns=\"http://www.w3.org/2000/svg\" ", size, " role=\"img\" aria-label=\"",
                escape_xml(name), "\">\n<style>\n", style_sheet(theme), "</style>\n",
                svg.finish(width, height).body, "</svg>\n");
}

}  // namespace rapt::plot

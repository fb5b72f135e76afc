#include <algorithm>
#include <array>
#include <cmath>

#include "rapt/base/check.h"
#include "rapt/base/utf8.h"
#include "rapt/plot/label.h"
#include "rapt/plot/scale.h"
#include "rapt/plot/text_panels.h"

namespace rapt::plot {
namespace {

constexpr std::array<const char*, 5> kShades = {"  ", "░░", "▒▒", "▓▓", "██"};
constexpr size_t kCell = 2;           // columns of a cell, which makes it about square
constexpr size_t kTallestLabel = 10;  // lines of a label that runs downwards
constexpr size_t kLongestRowLabel = 20;

size_t shade_of(double value, Range range) {
  const double t = (value - range.low) / (range.high - range.low);
  const double count = static_cast<double>(kShades.size());
  return static_cast<size_t>(std::clamp(t * count, 0.0, count - 1));
}

std::string cell(double value, Range range, bool colour) {
  if (!std::isfinite(value)) return "··";
  if (colour) return background(level_colour(level_of(value, range), true), "  ");
  return kShades[shade_of(value, range)];
}

// The characters of a label one below the other, each with the marks that combine with it.
std::vector<std::string> stacked(const std::string& label) {
  std::vector<std::string> out;
  for (size_t at = 0; at < label.size();) {
    const CodePoint c = utf8_decode(label, at);
    const size_t size = std::max<size_t>(c.size, 1);
    if (columns_of(c.value) == 0 && !out.empty()) {
      out.back() += label.substr(at, size);
    } else {
      out.push_back(label.substr(at, size));
    }
    at += size;
  }
  if (out.size() > kTallestLabel) {
    out.resize(kTallestLabel);
    out.back() = "⋮";
  }
  return out;
}

// The header of columns [begin, end): labels downwards, standing on the matrix.
void add_header(TextBlock& block, const HeatMap& map, size_t begin, size_t end, size_t left) {
  const auto labels = std::span(map.columns).subspan(begin, end - begin);
  const bool level = std::all_of(labels.begin(), labels.end(), [](const std::string& l) {
    return columns_of(visible(l)) <= kCell;
  });
  std::vector<std::vector<std::string>> stacks;
  size_t height = 1;
  for (const std::string& label : labels) {
    stacks.push_back(level ? std::vector{visible(label)} : stacked(visible(label)));
    height = std::max(height, stacks.back().size());
  }
  for (size_t row = 0; row < height; ++row) {
    std::string line(left, ' ');
    for (const auto& stack : stacks) {
      const size_t blank = height - stack.size();
      line += pad_right(row < blank ? "" : stack[row - blank], kCell);
    }
    block.add(line.erase(line.find_last_not_of(' ') + 1));
  }
}

}  // namespace

std::string axes_note(const HeatMap& map) {
  if (map.row_axis.empty() && map.column_axis.empty()) return {};
  if (map.column_axis.empty()) return "↓ " + map.row_axis;
  if (map.row_axis.empty()) return "→ " + map.column_axis;
  return "↓ " + map.row_axis + " · → " + map.column_axis;
}

TextBlock draw_text(const HeatMap& map, Range range, const TextOptions& options) {
  TextBlock block;
  if (!map.title.empty()) block.add(cut(visible(map.title), options.width));
  if (map.values.empty()) {
    block.add("no data");
    return block;
  }
  size_t label = 0;
  for (const std::string& row : map.rows) label = std::max(label, columns_of(visible(row)));
  label = std::min({label, kLongestRowLabel, options.width / 3});
  // Columns that do not fit go on below, under labels of their own.
  const size_t fitting = std::max<size_t>((options.width - label - 1) / kCell, 1);
  for (size_t begin = 0; begin < map.columns.size(); begin += fitting) {
    const size_t end = std::min(begin + fitting, map.columns.size());
    add_header(block, map, begin, end, label + 1);
    for (size_t r = 0; r < map.rows.size(); ++r) {
      std::string line = pad_left(visible(map.rows[r]), label) + ' ';
      for (size_t c = begin; c < end; ++c) {
        line += cell(map.values[r * map.columns.size() + c], range, options.colour);
      }
      block.add(std::move(line), label + 1 + kCell * (end - begin));
    }
  }
  return block;
}

TextBlock shade_legend(Range range, const std::string& label, const TextOptions& options) {
  TextBlock block;
  const auto name = [&](size_t taken) {
    const size_t room = options.width > taken + 2 ? options.width - taken - 2 : 0;
    return label.empty() || room == 0 ? "" : cut(label, room) + ": ";
  };
  if (options.colour) {
    constexpr size_t kSteps = 16;
    const std::string low = format_value(range.low), high = format_value(range.high);
    std::string scale;
    for (size_t i = 0; i < kSteps; ++i) {
      scale += background(level_colour(i * (kLevels - 1) / (kSteps - 1), true), " ");
    }
    const size_t taken = columns_of(low + high) + 2 + kSteps;
    const std::string head = name(taken);
    block.add(concat(head, low, ' ', scale, ' ', high), columns_of(head) + taken);
    return block;
  }
  // Each shade with the least value that it stands for, to a thousandth of the range.
  const double unit = (range.high - range.low) / 1000;
  std::string line;
  for (size_t i = 0; i < kShades.size(); ++i) {
    const double from = range.low + (range.high - range.low) * static_cast<double>(i) /
                                        static_cast<double>(kShades.size());
    line += (i == 0 ? "blank ≥ " : concat("  ", kShades[i], " ≥ ")) +
            format_value(std::fabs(from) < unit ? 0 : from, 3);
  }
  block.add(cut(name(columns_of(line)) + line, options.width));
  return block;
}

}  // namespace rapt::plot

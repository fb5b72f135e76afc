#include "rapt/plot/data.h"

#include <cmath>
#include <cstdio>

#include "rapt/base/check.h"
#include "rapt/base/utf8.h"
#include "rapt/plot/scale.h"

namespace rapt::plot {
namespace {

std::string json_number(double v) { return std::isfinite(v) ? format_exactly(v) : "null"; }

template <class Item, class ToJson>
std::string json_array(const std::vector<Item>& items, const ToJson& to_json) {
  std::string out = "[";
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += ',';
    out += to_json(items[i]);
  }
  return out + ']';
}

std::string json_numbers(const std::vector<double>& v) { return json_array(v, json_number); }
std::string json_strings(const std::vector<std::string>& v) { return json_array(v, json_string); }

std::string json_range(const std::optional<Range>& range) {
  if (!range) return "null";
  return concat('[', json_number(range->low), ',', json_number(range->high), ']');
}

std::string json_axis(const Axis& axis) {
  return concat("{\"label\":", json_string(axis.label), ",\"unit\":", json_string(axis.unit),
                ",\"logarithmic\":", axis.logarithmic ? "true" : "false",
                ",\"range\":", json_range(axis.range), '}');
}

std::string json_panel(const HeatMap& p) {
  std::string rows;
  for (size_t r = 0; r < p.rows.size(); ++r) {
    const auto first = p.values.begin() + static_cast<ptrdiff_t>(r * p.columns.size());
    const auto last = first + static_cast<ptrdiff_t>(p.columns.size());
    rows += (r > 0 ? ",\n" : "") + json_numbers({first, last});
  }
  return concat("{\"kind\":\"heat_map\",\"title\":", json_string(p.title),
                ",\"row_axis\":", json_string(p.row_axis),
                ",\"column_axis\":", json_string(p.column_axis), ",\"rows\":", json_strings(p.rows),
                ",\"columns\":", json_strings(p.columns),
                ",\"value_label\":", json_string(p.value_label), ",\"range\":", json_range(p.range),
                ",\n\"values\":[", rows, "]}");
}

std::string json_panel(const Bars& p) {
  const auto series = [](const BarSeries& s) {
    return concat("{\"name\":", json_string(s.name), ",\"values\":", json_numbers(s.values),
                  ",\"low\":", json_numbers(s.low), ",\"high\":", json_numbers(s.high), '}');
  };
  return concat("{\"kind\":\"bars\",\"title\":", json_string(p.title),
                ",\"category_axis\":", json_string(p.category_axis),
                ",\"categories\":", json_strings(p.categories), ",\"value\":", json_axis(p.value),
                ",\n\"series\":", json_array(p.series, series), '}');
}

std::string json_panel(const LineChart& p) {
  const auto series = [](const LineSeries& s) {
    return concat("{\"name\":", json_string(s.name), ",\"x\":", json_numbers(s.x),
                  ",\"y\":", json_numbers(s.y), ",\"low\":", json_numbers(s.low),
                  ",\"high\":", json_numbers(s.high), '}');
  };
  return concat("{\"kind\":\"lines\",\"title\":", json_string(p.title), ",\"x\":", json_axis(p.x),
                ",\"y\":", json_axis(p.y), ",\n\"series\":", json_array(p.series, series), '}');
}

std::string csv_text(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

std::string csv_number(double v) { return std::isfinite(v) ? format_exactly(v) : ""; }

template <class Series>
std::string csv_interval(const Series& s, size_t i) {
  return s.low.empty() ? ",," : concat(',', csv_number(s.low[i]), ',', csv_number(s.high[i]));
}

constexpr const char* kHeaders[] = {"panel,row,row_label,column,column_label,value\n",
                                    "panel,category,series,value,low,high\n",
                                    "panel,series,x,y,low,high\n"};

void add_csv(std::string& out, const HeatMap& p) {
  for (size_t r = 0; r < p.rows.size(); ++r) {
    for (size_t c = 0; c < p.columns.size(); ++c) {
      out +=
          concat(csv_text(p.title), ',', r + 1, ',', csv_text(p.rows[r]), ',', c + 1, ',',
                 csv_text(p.columns[c]), ',', csv_number(p.values[r * p.columns.size() + c]), '\n');
    }
  }
}

void add_csv(std::string& out, const Bars& p) {
  for (size_t c = 0; c < p.categories.size(); ++c) {
    for (const BarSeries& s : p.series) {
      out += concat(csv_text(p.title), ',', csv_text(p.categories[c]), ',', csv_text(s.name), ',',
                    csv_number(s.values[c]), csv_interval(s, c), '\n');
    }
  }
}

void add_csv(std::string& out, const LineChart& p) {
  for (const LineSeries& s : p.series) {
    for (size_t i = 0; i < s.x.size(); ++i) {
      out += concat(csv_text(p.title), ',', csv_text(s.name), ',', csv_number(s.x[i]), ',',
                    csv_number(s.y[i]), csv_interval(s, i), '\n');
    }
  }
}

}  // namespace

std::string json_string(const std::string& text) {
  std::string out = "\"";
  for (const char c : utf8_repaired(text)) {
    const unsigned char byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (byte < 0x20 || c == '<') {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", unsigned{byte});
      out += code;
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string to_json(const Figure& figure) {
  check_figure(figure);
  const auto panel = [](const Panel& p) {
    return std::visit([](const auto& q) { return concat('\n', json_panel(q)); }, p);
  };
  return concat("{\"title\":", json_string(figure.title),
                ",\"caption\":", json_string(figure.caption),
                ",\"panels\":", json_array(figure.panels, panel), "}\n");
}

std::string to_csv(const Figure& figure) {
  check_figure(figure);
  std::string out;
  size_t kind = std::variant_npos;
  for (const Panel& panel : figure.panels) {
    if (panel.index() != kind) {
      kind = panel.index();
      out += concat(out.empty() ? "" : "\n", kHeaders[kind]);
    }
    std::visit([&](const auto& p) { add_csv(out, p); }, panel);
  }
  return out;
}

}  // namespace rapt::plot

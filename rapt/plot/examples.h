// For tests: figures of every kind, and of every kind of nothing.
#pragma once
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "rapt/plot/figure.h"

namespace rapt::plot::examples {

inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

inline std::vector<std::string> tokens() {
  return {"Two", "young", "men", "are", "playing", "<unk>", "&", "한국어", "\"x'", "", "</s>"};
}

// Rows that sum to 1, with their weight near the diagonal.
inline HeatMap attention(const std::vector<std::string>& rows,
                         const std::vector<std::string>& columns) {
  HeatMap map{"cross-attention", "target", "source", rows, columns, {}, "attention weight", {}};
  for (size_t r = 0; r < rows.size(); ++r) {
    double sum = 0;
    std::vector<double> row;
    for (size_t c = 0; c < columns.size(); ++c) {
      row.push_back(1.0 / (1 + (r > c ? r - c : c - r) * (1 + r % 3)));
      sum += row.back();
    }
    for (const double v : row) map.values.push_back(v / sum);
  }
  return map;
}

inline std::vector<std::string> numbered(const std::string& stem, size_t n) {
  std::vector<std::string> out;
  for (size_t i = 0; i < n; ++i) out.push_back(stem + std::to_string(i));
  return out;
}

inline Figure heads(size_t panels, size_t columns, const std::vector<std::string>& labels) {
  Figure f{.title = "All heads", .columns = columns};
  for (size_t i = 0; i < panels; ++i) {
    HeatMap map = attention(labels, labels);
    map.title = "head " + std::to_string(i + 1);
    f.panels.push_back(map);
  }
  return f;
}

inline LineChart loss_curve() {
  LineChart chart{"Loss",
                  {{"train", {}, {}}, {"validation", {}, {}}},
                  {"updates", "", true, {}},
                  {"loss", "nats a token", false, {}}};
  for (int i = 1; i <= 3000; ++i) {
    chart.series[0].x.push_back(i);
    chart.series[0].y.push_back(8 / std::sqrt(1 + i * 0.01) + 0.2 * (i % 7));
  }
  for (int i = 500; i <= 3000; i += 500) {
    chart.series[1].x.push_back(i);
    chart.series[1].y.push_back(i == 1500 ? kNaN : 8 / std::sqrt(1 + i * 0.008));
  }
  return chart;
}

inline Bars error_rates() {
  return {"Phone error rate",
          "model",
          {"greedy", "beam 5, averaged", "한국어 모델"},
          {{"dev", {9.1, 8.2, 12.5}, {8.8, 7.9, 12}, {9.4, 8.5, 13}},
           {"test", {9.4, 8.4, kNaN}, {9, 8, kNaN}, {9.9, 8.8, kNaN}}},
          {"PER", "%", false, {}}};
}

// Everything at once, for what must hold of every picture.
inline std::vector<Figure> all() {
  const auto words = tokens();
  HeatMap holes = attention(words, words);
  holes.values[3] = kNaN;
  holes.values[4] = std::numeric_limits<double>::infinity();
  HeatMap constant{"all alike", "r", "c", {"a", "b"}, {"x", "y"}, {1, 1, 1, 1}, "v", {}};
  HeatMap nowhere{"none", "r", "c", {"a"}, {"x"}, {kNaN}, "v", {}};
  const HeatMap narrow{"a title that is much wider than its matrix",
                       "the name of the rows",
                       "the name of the columns",
                       {"a"},
                       {"x"},
                       {1},
                       "what the colours mean",
                       {}};
  LineChart crowd{"crowd", {}, {}, {}};
  for (const std::string& name : numbered("a run with a rather long name ", 9)) {
    crowd.series.push_back({name, {1, 2}, {1, 2}});
  }
  Figure tiny = heads(3, 3, {"a"});
  for (Panel& panel : tiny.panels) {
    std::get<HeatMap>(panel).row_axis = "a name that is longer than all of the rows together";
    std::get<HeatMap>(panel).column_axis = "a name that is longer than all of the columns together";
  }
  const HeatMap counted{"with numbers",
                        "key",
                        "query",
                        {"a", "b"},
                        {"x", "yy"},
                        {0.123456, -11.25, 1234567, kNaN},
                        "v",
                        {},
                        true};
  const LineChart intervals{"intervals",
                            {{"mean", {1, 2, 4}, {1, 2, kNaN}, {0, 1, 1}, {2, 9, kNaN}},
                             {"marked", {2}, {2}, {}, {}, false}},
                            {},
                            {}};
  const Bars sole{"", "the name of the only category", {"a"}, {{"s", {1}, {}, {}}}, {}};
  const LineChart flat{"flat", {{"k", {1, 2, 3}, {7, 7, 7}}}, {}, {}};
  const LineChart one{"one point", {{"k", {1e300}, {-1e-300}}}, {}, {}};
  const LineChart negative{"log of negatives", {{"k", {1, 2}, {-1, 0}}}, {}, {"", "", true, {}}};
  const LineChart holes_only{"NaN", {{"k", {1, 2}, {kNaN, kNaN}}}, {}, {}};
  const Bars signs{"signs", "", {"a", "b"}, {{"s", {-3, 5}, {}, {}}}, {"v", "", false, {}}};
  const Bars logs{"log", "", {"a", "b"}, {{"s", {0.01, 500}, {}, {}}}, {"v", "", true, {}}};
  const Bars zero{"zero", "", {"a"}, {{"s", {0}, {}, {}}}, {}};
  const Bars unknown{"unknown", "", {"a"}, {{"s", {kNaN}, {}, {}}}, {}};
  return {
      {.title = "Heat", .caption = "Each row sums to 1.", .panels = {attention(words, words)}},
      {.title = "Two", .panels = {holes, attention(words, words)}, .columns = 2},
      {.panels = {attention(numbered("token", 60), numbered("t", 45))}},
      heads(5, 3, words),
      heads(16, 8, {"a", "b", "c", "</s>"}),
      heads(4, 4, numbered("token", 60)),
      {.title = "Charts", .panels = {loss_curve(), error_rates(), signs, logs}, .columns = 2},
      {.title = "Charts below each other", .panels = {loss_curve(), error_rates()}},
      {.title = "Alike", .panels = {constant, nowhere, flat, one, zero}, .columns = 3},
      {.title = "Nothing",
       .panels = {HeatMap{}, Bars{}, LineChart{}, negative, holes_only, unknown},
       .columns = 2},
      {.panels = {narrow, crowd, sole}},
      {.title = "Numbers and intervals", .panels = {counted, intervals}, .columns = 2},
      tiny,
      {.title = "No panel"},
      {},
  };
}

}  // namespace rapt::plot::examples

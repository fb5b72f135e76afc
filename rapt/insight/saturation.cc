#include "rapt/insight/saturation.h"

#include <algorithm>
#include <cmath>

#include "rapt/base/scalar_math.h"
#include "rapt/insight/result.h"
#include "rapt/insight/scale.h"
#include "rapt/insight/sizes.h"
#include "rapt/insight/statistics.h"
#include "rapt/insight/weights.h"

namespace rapt::insight {
namespace {

constexpr double kSaturated = 0.99;

// The scores of one query and its keys: `keys` dot products of vectors with d components.
std::vector<double> scores_of(const SaturationOptions& o, const Setting& setting, size_t d,
                              size_t draw, std::span<float> scratch) {
  const uint64_t queries = draw_key(setting.seed, concat("saturation.query.", d));
  const uint64_t keys = draw_key(setting.seed, concat("saturation.key.", d));
  const VectorKind kind{o.components, o.correlation};
  const std::span<float> q = scratch.first(d), k = scratch.subspan(d, d);
  draw_vector(q, queries, draw, kind);
  std::vector<double> scores;
  for (size_t i = 0; i < o.keys; ++i) {
    draw_vector(k, keys, draw * o.keys + i, kind);
    scores.push_back(dot(q, k));
  }
  return scores;
}

// Of the weights that scores give, over many draws: their means.
struct Spread {
  double greatest = 0, entropy = 0, effective_keys = 0, saturated = 0, moved = 0;
};

Spread spread_of(std::vector<double> scores, double scale) {
  for (double& s : scores) s *= scale;
  const std::vector<double> p = softmax(scores);
  Spread s;
  s.greatest = *std::ranges::max_element(p);
  s.entropy = entropy(p);
  s.effective_keys = scalar::exp(s.entropy);
  s.saturated = s.greatest > kSaturated ? 100 : 0;
  const auto first = std::ranges::max_element(scores);
  std::iter_swap(scores.begin(), first);
  std::vector<double> before = softmax(scores);
  *std::max_element(scores.begin() + 1, scores.end()) += 1;
  s.moved = moved(before, softmax(scores));
  return s;
}

struct Point {
  size_t d_k;
  Spread unscaled, scaled;
};

Point measure(const SaturationOptions& o, const Setting& setting, size_t d) {
  std::vector<Spread> unscaled(o.draws), scaled(o.draws);
  measure_draws(o.draws, 2 * d, setting.pool, [&](size_t draw, std::span<float> scratch) {
    const std::vector<double> scores = scores_of(o, setting, d, draw, scratch);
    unscaled[draw] = spread_of(scores, 1);
    scaled[draw] = spread_of(scores, scale_of(o.scale, d));
    return 0.0;
  });
  const auto mean = [](const std::vector<Spread>& all) {
    Spread m;
    for (double Spread::*field : {&Spread::greatest, &Spread::entropy, &Spread::effective_keys,
                                  &Spread::saturated, &Spread::moved}) {
      for (const Spread& s : all) m.*field += s.*field / static_cast<double>(all.size());
    }
    return m;
  };
  return {d, mean(unscaled), mean(scaled)};
}

Table table_of(const std::vector<Point>& points, const Setting& setting) {
  const auto both = [&](std::string_view en, std::string_view ko, bool scaled) {
    return setting.say(concat(en, scaled ? ", scaled" : ""),
                       concat(ko, scaled ? "(스케일링)" : ""));
  };
  Table table{"by_d_k", setting.say("Means over the draws", "표본 평균"), {{"d_k", "d_k"}}, {}};
  for (const bool scaled : {false, true}) {
    const std::string prefix = scaled ? "scaled_" : "unscaled_";
    table.columns.insert(table.columns.end(),
                         {{prefix + "greatest", both("greatest p", "최대 p", scaled)},
                          {prefix + "entropy", both("entropy", "엔트로피", scaled)},
                          {prefix + "effective_keys", both("effective keys", "유효 키", scaled)},
                          {prefix + "saturated", both("p > 0.99 (%)", "p > 0.99(%)", scaled)},
                          {prefix + "moved", both("moved", "변화량", scaled)}});
  }
  for (const Point& p : points) {
    std::vector<Cell> row = {p.d_k};
    for (const Spread& s : {p.unscaled, p.scaled}) {
      row.insert(row.end(), {s.greatest, s.entropy, s.effective_keys, s.saturated, s.moved});
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

// The same scores of one draw, unscaled and scaled.
struct OneDraw {
  std::vector<double> scores, unscaled, scaled;
};
OneDraw one_draw(const SaturationOptions& o, const Setting& setting) {
  std::vector<float> scratch(2 * o.d_k);
  OneDraw d;
  d.scores = scores_of(o, setting, o.d_k, 0, scratch);
  d.unscaled = softmax(d.scores);
  std::vector<double> scaled = d.scores;
  for (double& s : scaled) s *= scale_of(o.scale, o.d_k);
  d.scaled = softmax(scaled);
  return d;
}

Table table_of(const OneDraw& d, const Setting& setting) {
  Table table{"one_draw",
              setting.say("One query and its keys", "쿼리 하나와 키들"),
              {{"key", setting.say("key", "키")},
               {"score", "q·k"},
               {"unscaled", setting.say("weight, unscaled", "가중치(스케일링 전)")},
               {"scaled", setting.say("weight, scaled", "가중치(스케일링 후)")}},
              {}};
  for (size_t i = 0; i < d.scores.size(); ++i) {
    table.rows.push_back({i + 1, d.scores[i], d.unscaled[i], d.scaled[i]});
  }
  return table;
}

plot::Bars bars_of(const std::string& title, const std::vector<double>& weights,
                   const Setting& setting) {
  plot::Bars bars{.title = title,
                  .category_axis = setting.say("key", "키"),
                  .series = {{"", weights, {}, {}}},
                  .value = {.label = setting.say("weight", "가중치"), .range = plot::Range{0, 1}}};
  for (size_t i = 1; i <= weights.size(); ++i) bars.categories.push_back(std::to_string(i));
  return bars;
}

plot::LineChart chart_of(const std::vector<Point>& points, const Setting& setting,
                         const std::string& title, const plot::Axis& y, double Spread::*field) {
  plot::LineChart chart{.title = title,
                        .series = {{setting.say("unscaled", "스케일링 전"), {}, {}},
                                   {setting.say("scaled", "스케일링 후"), {}, {}}},
                        .x = {.label = "d_k", .logarithmic = true},
                        .y = y};
  for (const Point& p : points) {
    for (plot::LineSeries& s : chart.series) s.x.push_back(static_cast<double>(p.d_k));
    chart.series[0].y.push_back(p.unscaled.*field);
    chart.series[1].y.push_back(p.scaled.*field);
  }
  return chart;
}

plot::Figure figure_of(const SaturationOptions& o, const Setting& setting, const OneDraw& one,
                       const std::vector<Point>& points) {
  const auto say = [&](std::string_view en, std::string_view ko) { return setting.say(en, ko); };
  const plot::Range unit{0, 1}, percent{0, 100}, keys{0, static_cast<double>(o.keys)};
  plot::Figure figure{
      .title = say("What scaling does to the softmax", "스케일링이 소프트맥스에 미치는 영향"),
      .caption = concat(o.keys, say(" keys, ", "개의 키, d_k마다 "), o.draws,
                        say(" draws for each d_k", "회 추출")),
      .columns = 2};
  figure.panels = {
      bars_of(concat(say("Unscaled, d_k = ", "스케일링 전, d_k = "), o.d_k), one.unscaled, setting),
      bars_of(concat(say("Scaled, the same scores", "같은 점수를 스케일링한 후")), one.scaled,
              setting),
      chart_of(points, setting, say("Effective keys, exp(entropy)", "유효 키 수, exp(엔트로피)"),
               {.label = say("keys", "키"), .range = keys}, &Spread::effective_keys),
      chart_of(points, setting, say("Greatest weight", "최대 가중치"),
               {.label = say("weight", "가중치"), .range = unit}, &Spread::greatest),
      chart_of(points, setting,
               say("Saturated: greatest weight above 0.99", "포화: 최대 가중치 0.99 초과"),
               {say("share of draws", "비율"), "%", false, percent}, &Spread::saturated),
      chart_of(points, setting,
               say("Weight that moves when a score rises by 1",
                   "점수 하나가 1 커질 때 옮겨 가는 가중치"),
               {.label = say("weight moved", "옮겨 간 가중치")}, &Spread::moved)};
  return figure;
}

}  // namespace

Result saturation(const SaturationOptions& o, const Setting& setting) {
  scale_of(o.scale, o.d_k);  // refuses a bad one before anything is drawn
  const OneDraw one = one_draw(o, setting);
  std::vector<Point> points;
  for (const size_t d : compared_sizes(o.d_k, o.longest)) points.push_back(measure(o, setting, d));
  const Point& p = *std::ranges::find(points, o.d_k, &Point::d_k);

  Result result;
  result.figure = figure_of(o, setting, one, points);
  result.tables = {table_of(one, setting), table_of(points, setting)};
  for (const auto& [prefix, s] : {std::pair{"unscaled_", p.unscaled}, {"scaled_", p.scaled}}) {
    const std::string name = prefix;
    result.numbers.insert(result.numbers.end(), {{name + "greatest", s.greatest},
                                                 {name + "entropy", s.entropy},
                                                 {name + "effective_keys", s.effective_keys},
                                                 {name + "saturated", s.saturated},
                                                 {name + "moved", s.moved}});
  }
  result.numbers.emplace_back("one_draw_unscaled_greatest",
                              *std::ranges::max_element(one.unscaled));
  result.numbers.emplace_back("one_draw_scaled_greatest", *std::ranges::max_element(one.scaled));

  // Nearly one-hot: most of the weight on one key in most draws; spread: over several keys.
  const bool peaked = p.unscaled.greatest > 0.8 && p.unscaled.effective_keys < 2;
  const bool spread = p.scaled.effective_keys > 3 && p.scaled.saturated < 1;
  result.verdict = peaked && spread ? Verdict::kHolds : Verdict::kFails;
  result.sentence = setting.say(
      concat("at d_k = ", o.d_k, " the greatest of ", o.keys, " unscaled weights is ",
             show(p.unscaled.greatest, 3), " on average, above 0.99 in ",
             show(p.unscaled.saturated, 3), " % of the draws, with ",
             show(p.unscaled.effective_keys, 3), " effective keys; scaled it is ",
             show(p.scaled.greatest, 3), ", above 0.99 in ", show(p.scaled.saturated, 3),
             " %, with ", show(p.scaled.effective_keys, 3),
             " effective keys. When the second score rises by 1, ", show(p.unscaled.moved, 2),
             " of the weight moves unscaled and ", show(p.scaled.moved, 2), " scaled."),
      concat("d_k = ", o.d_k, "에서 스케일링하지 않은 가중치 ", o.keys, "개 중 최댓값은 평균 ",
             show(p.unscaled.greatest, 3), "이고 표본의 ", show(p.unscaled.saturated, 3),
             "%에서 0.99를 넘으며 유효 키는 ", show(p.unscaled.effective_keys, 3),
             "개이다. 스케일링하면 최댓값은 ", show(p.scaled.greatest, 3), ", 0.99를 넘는 비율은 ",
             show(p.scaled.saturated, 3), "%, 유효 키는 ", show(p.scaled.effective_keys, 3),
             "개이다. 두 번째로 큰 점수가 1 커질 때 옮겨 가는 가중치는 스케일링 전 ",
             show(p.unscaled.moved, 2), ", 후 ", show(p.scaled.moved, 2), "이다."));
  return result;
}

}  // namespace rapt::insight

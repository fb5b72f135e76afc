#include "rapt/insight/variance.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "rapt/insight/result.h"
#include "rapt/insight/scale.h"
#include "rapt/insight/sizes.h"
#include "rapt/insight/statistics.h"

namespace rapt::insight {
namespace {

constexpr std::array kLimits = {10.0, 20.0, 50.0};  // shares of scores beyond these
constexpr double kContrast = 0.1;                   // a correlation at which the claim fails

// Dot products of `draws` pairs of vectors with d components.
std::vector<double> scores(const VarianceOptions& o, const Setting& setting, size_t d,
                           const VectorKind& kind) {
  const uint64_t queries = draw_key(setting.seed, concat("variance.query.", d));
  const uint64_t keys = draw_key(setting.seed, concat("variance.key.", d));
  return measure_draws(o.draws, 2 * d, setting.pool, [&](size_t draw, std::span<float> scratch) {
    const std::span<float> q = scratch.first(d), k = scratch.last(d);
    draw_vector(q, queries, draw, kind);
    draw_vector(k, keys, draw, kind);
    return dot(q, k);
  });
}

double share_beyond(std::span<const double> scores, double limit) {
  const auto beyond = std::ranges::count_if(scores, [&](double s) { return std::fabs(s) > limit; });
  return 100 * static_cast<double>(beyond) / static_cast<double>(scores.size());
}

std::string show(Interval i) { return concat(insight::show(i.low), " … ", insight::show(i.high)); }

// A step of the proof: what is averaged over the draws of two components each of q and k.
struct Step {
  std::string key, name;
  double expected;
  bool of_variance;  // else of the mean
  double (*value)(const float* q, const float* k);
};

std::vector<Step> steps() {
  using P = const float*;
  return {
      {"mean_component", "E[q_i]", 0, false, [](P q, P) { return double{q[0]}; }},
      {"square_component", "E[q_i²]", 1, false, [](P q, P) { return double{q[0]} * q[0]; }},
      {"mean_product", "E[k_i q_i]", 0, false, [](P q, P k) { return double{k[0]} * q[0]; }},
      {"variance_product", "Var[k_i q_i]", 1, true, [](P q, P k) { return double{k[0]} * q[0]; }},
      {"covariance_products", "Cov[k_i q_i, k_j q_j]", 0, false,
       [](P q, P k) { return double{k[0]} * q[0] * k[1] * q[1]; }}};
}

Table measure_steps(const VarianceOptions& o, const Setting& setting, const VectorKind& kind,
                    std::vector<std::pair<std::string, double>>& numbers) {
  Table table{"steps",
              setting.say("Steps of the proof", "증명의 각 단계"),
              {{"step", setting.say("step", "단계")},
               {"expected", setting.say("expected", "기댓값")},
               {"measured", setting.say("measured", "측정값")},
               {"low", setting.say("99.9 % from", "99.9% 하한")},
               {"high", setting.say("to", "상한")}},
              {}};
  const uint64_t queries = draw_key(setting.seed, "variance.step.query");
  const uint64_t keys = draw_key(setting.seed, "variance.step.key");
  for (const Step& step : steps()) {
    const Summary s = summarize(
        measure_draws(o.draws, 4, setting.pool, [&](size_t draw, std::span<float> scratch) {
          draw_vector(scratch.first(2), queries, draw, kind);
          draw_vector(scratch.last(2), keys, draw, kind);
          return step.value(&scratch[0], &scratch[2]);
        }));
    const double measured = step.of_variance ? s.variance : s.mean;
    const Interval i = step.of_variance ? s.variance_interval() : s.mean_interval();
    table.rows.push_back({step.name, step.expected, measured, i.low, i.high});
    numbers.emplace_back(step.key, measured);
  }
  return table;
}

// Variance over d_k for each kind of components, without and with correlation.
Table compare_kinds(const VarianceOptions& o, const Setting& setting,
                    std::vector<std::pair<std::string, double>>& numbers) {
  Table table{"kinds",
              concat(setting.say("Other components, d_k = ", "다른 성분, d_k = "), o.d_k),
              {{"components", setting.say("components", "성분")},
               {"correlation", setting.say("correlation r", "상관계수 r")},
               {"mean", setting.say("mean", "평균")},
               {"variance", setting.say("variance", "분산")},
               {"over_d_k", setting.say("variance / d_k", "분산 / d_k")},
               {"formula", "1 + (d_k - 1) r²"}},
              {}};
  for (const double r : {0.0, kContrast}) {
    for (const auto& [kind, name] : kNames<Components>) {
      const Summary s = summarize(scores(o, setting, o.d_k, {kind, r}));
      const double d = static_cast<double>(o.d_k);
      table.rows.push_back(
          {std::string(name), r, s.mean, s.variance, s.variance / d, 1 + (d - 1) * r * r});
      numbers.emplace_back(
          concat(r > 0 ? "correlated_" : "independent_", name, "_variance_over_d_k"),
          s.variance / d);
    }
  }
  return table;
}

double correlated_over_d_k(const Table& kinds, Components components) {
  const auto row = std::ranges::find_if(kinds.rows, [&](const auto& r) {
    return std::get<std::string>(r[0].value) == name_of(components) &&
           std::get<double>(r[1].value) > 0;
  });
  return std::get<double>((*row)[4].value);
}

// What is measured for one d_k.
struct Point {
  size_t d_k;
  Summary score, scaled;
  std::array<double, 3> beyond;
};

Point measure(const VarianceOptions& o, const Setting& setting, size_t d, const VectorKind& kind) {
  std::vector<double> all = scores(o, setting, d, kind);
  Point p{d, summarize(all), {}, {}};
  for (size_t i = 0; i < kLimits.size(); ++i) p.beyond[i] = share_beyond(all, kLimits[i]);
  const double scale = scale_of(o.scale, d);
  for (double& s : all) s *= scale;
  p.scaled = summarize(all);
  return p;
}

Table table_of(const std::vector<Point>& points, const Setting& setting) {
  Table table{
      "by_d_k",
      setting.say("Dot products by d_k, with 99.9 % intervals", "d_k에 따른 내적(99.9% 신뢰구간)"),
      {{"d_k", "d_k"},
       {"mean", setting.say("mean", "평균")},
       {"mean_interval", setting.say("interval", "구간")},
       {"variance", setting.say("variance", "분산")},
       {"variance_interval", setting.say("interval", "구간")},
       {"deviation", setting.say("deviation", "표준편차")},
       {"scaled_variance", setting.say("scaled variance", "스케일링 후 분산")},
       {"beyond_10", "|q·k| > 10 (%)"},
       {"beyond_20", "> 20"},
       {"beyond_50", "> 50"}},
      {}};
  for (const Point& p : points) {
    table.rows.push_back({p.d_k, p.score.mean, show(p.score.mean_interval()), p.score.variance,
                          show(p.score.variance_interval()), p.score.deviation(), p.scaled.variance,
                          p.beyond[0], p.beyond[1], p.beyond[2]});
  }
  return table;
}

template <class Value>
plot::LineSeries series(const std::string& name, const std::vector<Point>& points,
                        const Value& value) {
  plot::LineSeries s{.name = name};
  for (const Point& p : points) {
    s.x.push_back(static_cast<double>(p.d_k));
    s.y.push_back(value(p));
  }
  return s;
}

plot::LineSeries variances(const std::string& name, const std::vector<Point>& points,
                           Summary Point::*summary) {
  plot::LineSeries s = series(name, points, [&](const Point& p) { return (p.*summary).variance; });
  for (const Point& p : points) {
    s.low.push_back((p.*summary).variance_interval().low);
    s.high.push_back((p.*summary).variance_interval().high);
  }
  return s;
}

plot::LineChart variance_chart(const std::vector<Point>& points, const Setting& setting,
                               const std::vector<Point>& marked) {
  plot::LineChart chart{.title = setting.say("Variance of the scores", "점수의 분산"),
                        .x = {.label = "d_k", .logarithmic = true},
                        .y = {.label = setting.say("variance", "분산"), .logarithmic = true}};
  chart.series = {
      variances(setting.say("q·k, measured", "q·k 측정값"), points, &Point::score),
      series(setting.say("line d_k", "직선 d_k"), points,
             [](const Point& p) { return static_cast<double>(p.d_k); }),
      variances(setting.say("scaled, measured", "스케일링 후 측정값"), points, &Point::scaled),
      variances("d_k = 64, 128, 512", marked, &Point::score)};
  chart.series.back().joined = false;
  return chart;
}

plot::LineChart mean_chart(const std::vector<Point>& points, const Setting& setting) {
  plot::LineSeries means = series("", points, [](const Point& p) { return p.scaled.mean; });
  for (const Point& p : points) {
    means.low.push_back(p.scaled.mean_interval().low);
    means.high.push_back(p.scaled.mean_interval().high);
  }
  return {.title = setting.say("Mean of the scaled scores", "스케일링한 점수의 평균"),
          .series = {std::move(means)},
          .x = {.label = "d_k", .logarithmic = true},
          .y = {.label = setting.say("mean, 99.9 % interval", "평균, 99.9% 신뢰구간")}};
}

plot::LineChart share_chart(const std::vector<Point>& points, const Setting& setting) {
  plot::LineChart chart{
      .title = setting.say("Great scores before scaling", "스케일링 전의 큰 점수"),
      .x = {.label = "d_k", .logarithmic = true},
      .y = {setting.say("share of scores", "점수의 비율"), "%", false, plot::Range{0, 100}}};
  for (size_t i = 0; i < kLimits.size(); ++i) {
    chart.series.push_back(series(concat("|q·k| > ", kLimits[i]), points,
                                  [i](const Point& p) { return p.beyond[i]; }));
  }
  return chart;
}

plot::Bars kinds_chart(const Table& kinds, const VarianceOptions& o, const Setting& setting) {
  plot::Bars bars{
      .title = concat(setting.say("Other components, d_k = ", "다른 성분, d_k = "), o.d_k),
      .category_axis = setting.say("components", "성분"),
      .series = {{concat("r = 0"), {}, {}, {}}, {concat("r = ", kContrast), {}, {}, {}}},
      .value = {.label = setting.say("variance / d_k", "분산 / d_k")}};
  for (const auto& row : kinds.rows) {
    const bool correlated = std::get<double>(row[1].value) > 0;
    if (!correlated) bars.categories.push_back(std::get<std::string>(row[0].value));
    bars.series[correlated ? 1 : 0].values.push_back(std::get<double>(row[4].value));
  }
  return bars;
}

bool agrees(const Point& p) {
  return p.score.mean_interval().contains(0) &&
         p.score.variance_interval().contains(static_cast<double>(p.d_k)) &&
         p.scaled.variance_interval().contains(1);
}

}  // namespace

Result variance(const VarianceOptions& o, const Setting& setting) {
  const VectorKind kind{o.components, o.correlation};
  scale_of(o.scale, o.d_k);  // refuses a bad one before anything is drawn
  Result result;
  Table steps = measure_steps(o, setting, kind, result.numbers);
  std::vector<Point> points, marked;
  for (const size_t d : compared_sizes(o.d_k, o.longest)) {
    points.push_back(measure(o, setting, d, kind));
    if (std::ranges::find(kMarkedSizes, d) != kMarkedSizes.end()) marked.push_back(points.back());
  }
  const Point& p = *std::ranges::find(points, o.d_k, &Point::d_k);
  Table kinds = compare_kinds(o, setting, result.numbers);
  const double contrast = correlated_over_d_k(kinds, o.components);

  result.numbers.insert(result.numbers.end(), {{"mean", p.score.mean},
                                               {"variance", p.score.variance},
                                               {"deviation", p.score.deviation()},
                                               {"scaled_mean", p.scaled.mean},
                                               {"scaled_variance", p.scaled.variance},
                                               {"scaled_deviation", p.scaled.deviation()},
                                               {"beyond_10", p.beyond[0]},
                                               {"beyond_20", p.beyond[1]},
                                               {"beyond_50", p.beyond[2]}});
  result.figure = {
      .title = setting.say("Why scores are divided by √d_k", "점수를 √d_k로 나누는 이유"),
      .caption =
          concat(o.draws, setting.say(" pairs of vectors for each d_k", "쌍의 벡터(d_k마다)")),
      .panels = {variance_chart(points, setting, marked), mean_chart(points, setting),
                 share_chart(points, setting), kinds_chart(kinds, o, setting)},
      .columns = 2};
  result.tables = {std::move(steps), table_of(points, setting), std::move(kinds)};

  const bool holds = std::ranges::all_of(points, agrees);
  result.verdict = holds ? Verdict::kHoldsWhen : Verdict::kFails;
  const std::string measured = setting.say(
      concat("at d_k = ", o.d_k, " the mean is ", insight::show(p.score.mean, 2),
             ", the standard deviation ", insight::show(p.score.deviation()),
             " (√d_k = ", insight::show(std::sqrt(static_cast<double>(o.d_k))),
             ") and the variance after scaling ", insight::show(p.scaled.variance), "; ",
             insight::show(p.beyond[0], 3), " % of the scores lie beyond ±10, ",
             insight::show(p.beyond[1], 3), " % beyond ±20 and ", insight::show(p.beyond[2], 2),
             " % beyond ±50"),
      concat("d_k = ", o.d_k, "에서 평균은 ", insight::show(p.score.mean, 2), ", 표준편차는 ",
             insight::show(p.score.deviation()),
             "(√d_k = ", insight::show(std::sqrt(static_cast<double>(o.d_k))),
             "), 스케일링 후 분산은 ", insight::show(p.scaled.variance), "이다. 점수의 ",
             insight::show(p.beyond[0], 3), "%가 ±10, ", insight::show(p.beyond[1], 3), "%가 ±20, ",
             insight::show(p.beyond[2], 2), "%가 ±50을 벗어난다"));
  result.sentence =
      holds ? setting.say(
                  concat("the components are uncorrelated: ", measured, ". With a correlation of ",
                         kContrast, " between the components of a vector the variance is ",
                         insight::show(contrast, 3), " d_k, and √d_k is not enough."),
                  concat("성분들이 서로 상관이 없을 때이다. ", measured,
                         ". 한 벡터의 성분들 사이에 상관계수 ", kContrast,
                         "의 상관이 있으면 분산은 ", insight::show(contrast, 3),
                         "·d_k가 되어 √d_k로 나누는 것만으로는 부족하다."))
            : concat(measured, ".");
  return result;
}

}  // namespace rapt::insight

#include "rapt/insight/vanishing.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "rapt/base/scalar_math.h"
#include "rapt/insight/result.h"
#include "rapt/insight/saturated_gradient.h"
#include "rapt/insight/score_training.h"
#include "rapt/insight/statistics.h"

namespace rapt::insight {
namespace {

constexpr double kSmall = 0.01;  // a gradient at the query that is close to 0

struct Spread {
  double median, mean;
};
struct AtWidth {
  size_t d_k;
  std::array<Spread, 2> jacobian, query;  // scaled, unscaled
  std::array<double, 2> small;            // share of draws with |dL/dq| < kSmall
};

AtWidth measure_at(size_t d_k, const VanishingOptions& o, const Setting& s) {
  const std::array scales = {1 / std::sqrt(static_cast<double>(d_k)), 1.0};
  const auto draws = draw_gradients(d_k, o.keys, o.draws, scales, s.seed, s.pool);
  const auto spread = [](const std::vector<double>& v) {
    return Spread{quantile(v, 0.5), mean_of(v)};
  };
  AtWidth at{.d_k = d_k, .jacobian = {}, .query = {}, .small = {}};
  for (size_t i = 0; i < scales.size(); ++i) {
    at.jacobian[i] = spread(draws[i].jacobian);
    at.query[i] = spread(draws[i].query);
    const auto small = std::ranges::count_if(draws[i].query, [](double v) { return v < kSmall; });
    at.small[i] = static_cast<double>(small) / static_cast<double>(o.draws);
  }
  return at;
}

std::vector<size_t> with(std::vector<size_t> values, size_t value) {
  values.push_back(value);
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

struct Measurements {
  std::vector<AtWidth> widths;
  AtWidth quoted;  // at --d-k
  std::vector<ScoreRun> runs;
};
Measurements measure(const VanishingOptions& o, const Setting& s) {
  Measurements m;
  for (const size_t d_k : with({1, 4, 16, 64, 128, 256, 512, 1024}, o.d_k)) {
    if (d_k > 2 * o.d_k) break;
    m.widths.push_back(measure_at(d_k, o, s));
    if (d_k == o.d_k) m.quoted = m.widths.back();
  }
  m.runs = train_scores(o.training, o.layers, with({16, 64}, o.d_k), s.seed, s.pool);
  return m;
}

std::string title_of(bool scaled) { return scaled ? "q·k / √d_k" : "q·k"; }

// The slope of the softmax of two values at their difference z: p (1 - p).
SoftmaxGradient of_two(double a, double b) {
  return softmax_gradient(std::array{a, b}, std::array{1.0, 0.0});
}

// ---- Tables

Table gradients_of(const Measurements& m, const VanishingOptions& o, const Setting& s) {
  Table table{"gradients",
              s.say(concat("A random query and ", o.keys, " keys, ", o.draws, " draws"),
                    concat("무작위 쿼리와 키 ", o.keys, "개, 표본 ", o.draws, "개")),
              {{"d_k", "d_k"}},
              {}};
  for (size_t i = 0; i < 2; ++i) {
    const std::string key = i == 0 ? "scaled" : "unscaled", scores = title_of(i == 0);
    table.columns.push_back(
        {"jacobian_" + key, concat(s.say("median |J|, ", "|J| 중앙값, "), scores)});
    table.columns.push_back(
        {"gradient_" + key, concat(s.say("median |dL/dq|, ", "|dL/dq| 중앙값, "), scores)});
    table.columns.push_back(
        {"gradient_mean_" + key, concat(s.say("mean |dL/dq|, ", "|dL/dq| 평균, "), scores)});
    table.columns.push_back({"small_" + key, concat(s.say("share below ", "다음 미만의 비율: "),
                                                    show(kSmall), ", ", scores)});
  }
  for (const AtWidth& at : m.widths) {
    std::vector<Cell> row = {at.d_k};
    for (size_t i = 0; i < 2; ++i) {
      row.insert(row.end(),
                 {at.jacobian[i].median, at.query[i].median, at.query[i].mean, at.small[i]});
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table two_values(const Setting& s) {
  Table table{"two_values",
              s.say("Softmax of two values: only their difference counts",
                    "두 값의 소프트맥스: 두 값의 차이만이 중요하다"),
              {{"first", s.say("first", "첫째 값")},
               {"second", s.say("second", "둘째 값")},
               {"p", s.say("weight of the first", "첫째의 가중치")},
               {"slope", s.say("slope p(1 - p)", "기울기 p(1 - p)")}},
              {}};
  constexpr std::array<std::array<double, 2>, 5> kValues = {
      {{0, 0}, {5, 0}, {-5, 0}, {100, 100}, {105, 100}}};
  for (const auto& [a, b] : kValues) {
    const SoftmaxGradient two = of_two(a, b);
    table.rows.push_back({a, b, two.p[0], two.ds[0]});
  }
  return table;
}

Table trainings_of(const Measurements& m, double chance, const Setting& s) {
  Table table{
      "trainings",
      s.say("The same training with both scores", "두 가지 점수로 한 같은 학습"),
      {{"d_k", "d_k"},
       {"projections", s.say("projections", "투영")},
       {"score", s.say("score", "점수")},
       {"saturated", s.say("saturated rows at first", "처음의 포화된 행 비율")},
       {"gradient", s.say("|gradient| at W_q, W_k at first", "처음의 W_q, W_k |그래디언트|")},
       {"half", s.say("updates to half of chance", "손실이 추측의 절반이 될 때까지의 갱신")},
       {"loss", s.say("loss at the end", "마지막 손실")}},
      {}};
  for (const ScoreRun& run : m.runs) {
    const auto half = run.curve.reaches(chance / 2);
    table.rows.push_back({run.d_k,
                          run.unit ? s.say("unit variance", "분산 1") : s.say("usual", "보통"),
                          title_of(run.scaled), run.saturated, run.gradient,
                          half ? Cell(*half) : Cell(s.say("never", "도달 못함")), run.curve.end()});
  }
  return table;
}

// ---- Figure

std::vector<plot::Panel> draws_panels(const Measurements& m, const Setting& s) {
  const plot::Axis width{.label = "d_k", .logarithmic = true};
  plot::LineChart jacobian{.title = s.say("Jacobian of the softmax", "소프트맥스의 야코비 행렬"),
                           .x = width,
                           .y = {.label = "|J|", .logarithmic = true}};
  plot::LineChart query{
      .title = s.say("Gradient that reaches the query", "쿼리에 도달하는 그래디언트"),
      .x = width,
      .y = {.label = "|dL/dq|", .logarithmic = true}};
  for (size_t i = 0; i < 2; ++i) {
    const std::string median = title_of(i == 0) + s.say(", median", ", 중앙값"),
                      mean = title_of(i == 0) + s.say(", mean", ", 평균");
    for (const auto& [chart, spreads] :
         {std::pair{&jacobian, &AtWidth::jacobian}, std::pair{&query, &AtWidth::query}}) {
      plot::LineSeries medians{median, {}, {}}, means{mean, {}, {}};
      for (const AtWidth& at : m.widths) {
        for (plot::LineSeries* series : {&medians, &means}) {
          series->x.push_back(static_cast<double>(at.d_k));
        }
        medians.y.push_back((at.*spreads)[i].median);
        means.y.push_back((at.*spreads)[i].mean);
      }
      chart->series.insert(chart->series.end(), {medians, means});
    }
  }
  // What is below would press the rest together.
  jacobian.y.range = query.y.range = plot::Range{1e-6, 10};
  return {jacobian, query};
}

plot::Panel two_values_panel(const Setting& s) {
  plot::LineChart chart{
      .title = s.say("Softmax of two values", "두 값의 소프트맥스"),
      .series = {{s.say("weight p", "가중치 p"), {}, {}},
                 {s.say("slope p(1 - p)", "기울기 p(1 - p)"), {}, {}}},
      .x = {.label = s.say("difference of the values", "두 값의 차이")},
      .y = {.label = s.say("weight, slope", "가중치, 기울기"), .range = plot::Range{0, 1}}};
  for (int z = -20; z <= 20; ++z) {
    const SoftmaxGradient two = of_two(0.5 * z, 0);
    for (plot::LineSeries& series : chart.series) series.x.push_back(0.5 * z);
    chart.series[0].y.push_back(two.p[0]);
    chart.series[1].y.push_back(two.ds[0]);
  }
  return chart;
}

std::vector<plot::Panel> training_panels(const Measurements& m, double chance, const Setting& s) {
  std::vector<plot::Panel> panels;
  for (size_t i = 0; i < m.runs.size(); ++i) {
    if (i == 0 || m.runs[i].d_k != m.runs[i - 1].d_k) {
      panels.push_back(
          plot::LineChart{.title = concat(s.say("Training, d_k = ", "학습, d_k = "), m.runs[i].d_k),
                          .x = {.label = s.say("update", "갱신 횟수")},
                          .y = {s.say("loss", "손실"), s.say("nats a position", "위치당 nat"),
                                false, plot::Range{0, 1.25 * chance}}});
    }
    SmoothCurve curve = smooth(m.runs[i].curve.loss);
    for (double& loss : curve.loss) loss = loss > 1.25 * chance ? NAN : loss;
    std::get<plot::LineChart>(panels.back())
        .series.push_back(
            {concat(title_of(m.runs[i].scaled), ", ",
                    m.runs[i].unit ? s.say("unit", "분산 1") : s.say("usual", "보통")),
             curve.step, curve.loss});
  }
  return panels;
}

// ---- Conclusion

std::vector<std::pair<std::string, double>> numbers_of(const Measurements& m, double chance) {
  std::vector<std::pair<std::string, double>> numbers;
  for (size_t i = 0; i < 2; ++i) {
    const std::string key = i == 0 ? "_scaled" : "_unscaled";
    numbers.emplace_back("jacobian" + key, m.quoted.jacobian[i].median);
    numbers.emplace_back("jacobian_mean" + key, m.quoted.jacobian[i].mean);
    numbers.emplace_back("gradient" + key, m.quoted.query[i].median);
    numbers.emplace_back("gradient_mean" + key, m.quoted.query[i].mean);
    numbers.emplace_back("small" + key, m.quoted.small[i]);
  }
  numbers.emplace_back("slope_0", of_two(0, 0).ds[0]);
  numbers.emplace_back("slope_5", of_two(5, 0).ds[0]);
  for (const ScoreRun& run : m.runs) {
    const std::string key =
        concat(run.unit ? "_unit" : "_usual", run.scaled ? "_scaled_" : "_unscaled_", run.d_k);
    const auto half = run.curve.reaches(chance / 2);
    numbers.emplace_back("saturated" + key, run.saturated);
    numbers.emplace_back("projection_gradient" + key, run.gradient);
    numbers.emplace_back("updates" + key, half ? static_cast<double>(*half) : INFINITY);
    numbers.emplace_back("loss" + key, run.curve.end());
  }
  return numbers;
}

const ScoreRun& run_of(const Measurements& m, bool unit, bool scaled) {
  return *std::ranges::find_if(m.runs, [&](const ScoreRun& run) {
    return run.d_k == m.quoted.d_k && run.unit == unit && run.scaled == scaled;
  });
}

void conclude(Result& result, const Measurements& m, double chance, const Setting& s) {
  const auto updates = [&](bool unit, bool scaled) {
    return run_of(m, unit, scaled).curve.reaches(chance / 2);
  };
  const auto hindered = [&](bool unit) {  // a quarter longer, or for ever
    const auto with = updates(unit, true), without = updates(unit, false);
    return with && (!without || 4 * *without > 5 * *with);
  };
  const auto& query = m.quoted.query;
  const bool vanishes = query[1].median < 0.1 * query[0].median;
  result.verdict = !vanishes || !hindered(true)                             ? Verdict::kFails
                   : hindered(false) && query[1].mean < 0.1 * query[0].mean ? Verdict::kHolds
                                                                            : Verdict::kHoldsWhen;
  const bool when = result.verdict == Verdict::kHoldsWhen;
  const auto shown = [&](bool unit, bool scaled) {
    const auto n = updates(unit, scaled);
    const size_t all = run_of(m, unit, scaled).curve.loss.size();
    return n ? s.say(concat(*n), concat(*n, "회"))
             : s.say(concat("more than ", all), concat(all, "회 넘게"));
  };
  const auto percent = [](double share) { return show(100 * share, 2); };
  const auto rows = [&](bool unit) { return percent(run_of(m, unit, false).saturated); };
  result.sentence = s.say(
      concat(when ? "the components of q and k have a variance near 1. " : "",
             "At d_k = ", m.quoted.d_k, " without the scale, a training that starts so (",
             rows(true), " % of the rows of weights saturated) needs ", shown(true, false),
             " updates to halve the loss of chance, with it ", shown(true, true),
             "; from the usual projections (", rows(false), " % saturated) ", shown(false, false),
             " and ", shown(false, true),
             ". Of random queries the gradient is close to 0 in most, "
             "not on average: its median is ",
             show(query[1].median, 2), " (scaled ", show(query[0].median, 2), "), ",
             percent(m.quoted.small[1]), " % lie below ", show(kSmall),
             ", but the few that are left are large, and the mean is ", show(query[1].mean, 2),
             " (scaled ", show(query[0].mean, 2), ")."),
      concat(when ? "q와 k 성분의 분산이 1에 가까울 때이다. " : "", "d_k = ", m.quoted.d_k,
             "에서 이렇게 시작해 스케일링 없이 학습하면(가중치 행의 ", rows(true),
             "%가 포화) 손실이 무작위 추측의 절반이 될 때까지 갱신이 ", shown(true, false),
             " 필요하고, 스케일링하면 ", shown(true, true), " 필요하다. 보통의 투영(", rows(false),
             "% 포화)에서는 각각 ", shown(false, false), "와 ", shown(false, true),
             "이다. 무작위 쿼리의 그래디언트는 대부분 0에 가깝지만 평균은 그렇지 않다. 중앙값은 ",
             show(query[1].median, 2), "(스케일링하면 ", show(query[0].median, 2), ")이고 ",
             percent(m.quoted.small[1]), "%가 ", show(kSmall),
             " 미만이지만, 남은 소수가 커서 평균은 ", show(query[1].mean, 2), "(스케일링하면 ",
             show(query[0].mean, 2), ")이다."));
}

}  // namespace

Result vanishing(const VanishingOptions& o, const Setting& s) {
  o.training.validate();
  const double chance = scalar::log(static_cast<double>(o.training.symbols));
  const Measurements m = measure(o, s);
  Result result;
  result.figure = {
      .title = s.say("Saturation, gradient and learning", "포화, 그래디언트, 학습"),
      .caption = s.say(concat(o.draws, " draws of a query and ", o.keys, " keys. Models of ",
                              o.layers, " layers. ", describe(o.training, s)),
                       concat("쿼리 하나와 키 ", o.keys, "개의 표본 ", o.draws, "개. 모델 ",
                              o.layers, "층. ", describe(o.training, s))),
      .panels = draws_panels(m, s),
      .columns = 2};
  result.figure.panels.push_back(two_values_panel(s));
  for (plot::Panel& panel : training_panels(m, chance, s)) {
    result.figure.panels.push_back(std::move(panel));
  }
  result.tables = {gradients_of(m, o, s), two_values(s), trainings_of(m, chance, s)};
  result.numbers = numbers_of(m, chance);
  conclude(result, m, chance, s);
  return result;
}

}  // namespace rapt::insight

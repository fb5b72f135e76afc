#include "rapt/insight/dice.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "rapt/base/random.h"
#include "rapt/insight/draws.h"
#include "rapt/insight/result.h"
#include "rapt/insight/statistics.h"

namespace rapt::insight {
namespace {

constexpr size_t kMostBins = 80;  // of the measured distribution that is drawn

struct Spread {
  double low, high, mean, variance;  // low and high: of the range
  double width() const { return high - low; }
  double deviation() const { return std::sqrt(variance); }
};

// n dice of f faces: mean n (f + 1) / 2, variance n (f^2 - 1) / 12.
Spread exact(size_t dice, size_t faces) {
  const double n = static_cast<double>(dice), f = static_cast<double>(faces);
  return {n, n * f, n * (f + 1) / 2, n * (f * f - 1) / 12};
}

// Sums of the first `dice` dice of each throw.
std::vector<double> throws_of(const DiceOptions& o, const Setting& setting, size_t dice) {
  const uint64_t key = draw_key(setting.seed, "dice.throw");
  const double faces = static_cast<double>(o.faces);
  return measure_draws(o.draws, 0, setting.pool, [&](size_t draw, std::span<float>) {
    double sum = 0;
    for (size_t i = 0; i < dice; ++i) {
      sum += 1 + std::floor(faces * uniform(key, uint64_t{draw} * o.dice + i));
    }
    return sum;
  });
}

// Where the middle 99.9 % of a distribution over low, low + 1, … lies.
Interval middle(const std::vector<double>& distribution, double low) {
  constexpr double kTail = (1 - kConfidence) / 2;
  size_t first = 0, last = distribution.size() - 1;
  for (double below = distribution[0]; below < kTail; below += distribution[++first]) {
  }
  for (double above = distribution[last]; above < kTail; above += distribution[--last]) {
  }
  return {low + static_cast<double>(first), low + static_cast<double>(last)};
}

// The exact distribution as a line and the measured one as points.
plot::LineChart chart_of(const DiceOptions& o, const Setting& setting, size_t dice,
                         const std::vector<double>& sums) {
  plot::LineChart chart{.series = {{setting.say("exact", "이론값"), {}, {}, {}, {}},
                                   {setting.say("measured", "측정값"), {}, {}, {}, {}, false}},
                        .x = {.label = setting.say("sum", "눈의 합")},
                        .y = {.label = setting.say("probability", "확률")}};
  chart.title =
      dice == 1 ? setting.say("One die", "주사위 하나")
                : concat(setting.say("Sum of ", "주사위 "), dice, setting.say(" dice", "개의 합"));
  const std::vector<double> distribution = sum_distribution(dice, o.faces);
  const double low = static_cast<double>(dice);
  for (size_t i = 0; i < distribution.size(); ++i) {
    chart.series[0].x.push_back(low + static_cast<double>(i));
    chart.series[0].y.push_back(distribution[i]);
  }
  chart.y.range = plot::Range{0, 1.25 * *std::ranges::max_element(distribution)};
  const size_t width = (distribution.size() + kMostBins - 1) / kMostBins;
  std::vector<double> counts((distribution.size() + width - 1) / width);
  for (const double s : sums) ++counts[static_cast<size_t>(s - low) / width];
  for (size_t bin = 0; bin < counts.size(); ++bin) {
    if (counts[bin] == 0) continue;  // the line shows what is never seen
    // The last bin may be narrower.
    const size_t first = bin * width, wide = std::min(width, distribution.size() - first);
    const double centre = static_cast<double>(first) + static_cast<double>(wide - 1) / 2;
    chart.series[1].x.push_back(low + centre);
    chart.series[1].y.push_back(counts[bin] / static_cast<double>(o.draws * wide));
  }
  return chart;
}

// Both distributions over the deviation from their means: one scale for what is compared.
plot::LineChart compared(const DiceOptions& o, const Setting& setting) {
  plot::LineChart chart{
      .title = setting.say("Both on one scale", "같은 눈금에서 본 두 분포"),
      .series =
          {{setting.say("one die", "주사위 하나"), {}, {}, {}, {}},
           {concat(setting.say("sum of ", "합: "), o.dice, setting.say("", "개")), {}, {}, {}, {}}},
      .x = {.label = setting.say("deviation from the mean", "평균과의 차이")},
      .y = {.label = setting.say("probability", "확률")}};
  for (size_t s = 0; s < 2; ++s) {
    const size_t dice = s == 0 ? 1 : o.dice;
    const std::vector<double> distribution = sum_distribution(dice, o.faces);
    const Spread spread = exact(dice, o.faces);
    for (size_t i = 0; i < distribution.size(); ++i) {
      chart.series[s].x.push_back(spread.low + static_cast<double>(i) - spread.mean);
      chart.series[s].y.push_back(distribution[i]);
    }
  }
  return chart;
}

}  // namespace

std::vector<double> sum_distribution(size_t dice, size_t faces) {
  std::vector<double> p = {1};
  for (size_t die = 0; die < dice; ++die) {
    std::vector<double> next(p.size() + faces - 1);
    for (size_t i = 0; i < p.size(); ++i) {
      for (size_t f = 0; f < faces; ++f) next[i + f] += p[i] / static_cast<double>(faces);
    }
    p = std::move(next);
  }
  return p;
}

Result dice(const DiceOptions& o, const Setting& setting) {
  const auto say = [&](std::string_view en, std::string_view ko) { return setting.say(en, ko); };
  const Spread one = exact(1, o.faces), sum = exact(o.dice, o.faces);
  const std::vector<double> singles = throws_of(o, setting, 1),
                            sums = throws_of(o, setting, o.dice);
  const Summary single = summarize(singles), measured = summarize(sums);
  const auto [least, greatest] = std::ranges::minmax(sums);
  const Interval centre = middle(sum_distribution(o.dice, o.faces), sum.low);

  Table table{"spread",
              say("One die and the sum", "주사위 하나와 합"),
              {{"quantity", say("quantity", "항목")},
               {"one", say("one die", "하나")},
               {"sum", concat(say("sum of ", "합: "), o.dice, say("", "개"))},
               {"ratio", say("ratio", "비율")},
               {"one_measured", say("one, measured", "하나(측정)")},
               {"sum_measured", say("sum, measured", "합(측정)")},
               {"ratio_measured", say("ratio, measured", "비율(측정)")}},
              {}};
  struct Line {
    const char *en, *ko;
    double one, sum, one_measured, sum_measured;
  };
  for (const Line& l :
       {Line{"mean", "평균", one.mean, sum.mean, single.mean, measured.mean},
        Line{"width of the range", "범위의 폭", one.width(), sum.width(),
             std::ranges::max(singles) - std::ranges::min(singles), greatest - least},
        Line{"variance", "분산", one.variance, sum.variance, single.variance, measured.variance},
        Line{"standard deviation", "표준편차", one.deviation(), sum.deviation(), single.deviation(),
             measured.deviation()}}) {
    table.rows.push_back({say(l.en, l.ko), l.one, l.sum, l.sum / l.one, l.one_measured,
                          l.sum_measured, l.sum_measured / l.one_measured});
  }
  plot::Bars ratios{
      .title = say("The sum beside one die", "하나에 대한 합의 비율"),
      .series = {{say("exact", "이론값"), {}, {}, {}}, {say("measured", "측정값"), {}, {}, {}}},
      .value = {.label = say("times that of one die", "배")}};
  for (size_t i = 1; i < table.rows.size(); ++i) {
    ratios.categories.push_back(std::get<std::string>(table.rows[i][0].value));
    ratios.series[0].values.push_back(std::get<double>(table.rows[i][3].value));
    ratios.series[1].values.push_back(std::get<double>(table.rows[i][6].value));
  }

  Result result;
  result.figure = {
      .title = concat(say("One die and the sum of ", "주사위 하나와 "), o.dice, say("", "개의 합")),
      .caption =
          concat(o.draws, say(" throws of ", "번 던짐, 주사위 "), o.dice, say(" dice", "개")),
      .panels = {chart_of(o, setting, 1, singles), chart_of(o, setting, o.dice, sums),
                 compared(o, setting), ratios},
      .columns = 2};
  result.numbers = {{"one_width", one.width()},
                    {"sum_low", sum.low},
                    {"sum_high", sum.high},
                    {"sum_width", sum.width()},
                    {"width_ratio", sum.width() / one.width()},
                    {"one_variance", single.variance},
                    {"sum_variance", measured.variance},
                    {"variance_ratio", measured.variance / single.variance},
                    {"deviation_ratio", measured.deviation() / single.deviation()},
                    {"sum_mean", measured.mean},
                    {"sum_deviation", measured.deviation()},
                    {"least_seen", least},
                    {"greatest_seen", greatest},
                    {"middle_low", centre.low},
                    {"middle_high", centre.high}};
  const bool holds = measured.mean_interval().contains(sum.mean) &&
                     measured.variance_interval().contains(sum.variance) &&
                     single.variance_interval().contains(one.variance);
  result.tables = {std::move(table)};
  result.verdict = holds ? Verdict::kHolds : Verdict::kFails;
  const bool met = least == sum.low || greatest == sum.high;
  result.sentence =
      say(concat("the range is ", show(sum.width()), " wide instead of ", show(one.width()),
                 ", the variance ", show(measured.variance), " instead of ", show(single.variance),
                 " (× ", show(measured.variance / single.variance, 3),
                 "), the standard deviation × ", show(measured.deviation() / single.deviation(), 3),
                 met ? ". " : ". The ends of the range are not met, though: ", o.draws,
                 " sums lay between ", show(least), " and ", show(greatest),
                 ", and 99.9 % lie within ", show(centre.low), " … ", show(centre.high), "."),
          concat("범위의 폭은 ", show(one.width()), "에서 ", show(sum.width()), "으로, 분산은 ",
                 show(single.variance), "에서 ", show(measured.variance), "로(",
                 show(measured.variance / single.variance, 3), "배), 표준편차는 ",
                 show(measured.deviation() / single.deviation(), 3),
                 met ? "배로 커진다. " : "배로 커진다. 다만 범위의 양 끝은 나오지 않았다. ",
                 o.draws, "번의 합은 ", show(least), "~", show(greatest), "에 있었고, 99.9%는 ",
                 show(centre.low), "~", show(centre.high), " 안에 있다."));
  return result;
}

}  // namespace rapt::insight

#include "rapt/insight/normalization_figure.h"

#include <algorithm>
#include <cmath>

#include "rapt/insight/result.h"
#include "rapt/insight/statistics.h"

namespace rapt::insight {
namespace {

// 0, 1, 2, …
std::vector<double> numbers_to(size_t count) {
  std::vector<double> all(count);
  for (size_t i = 0; i < count; ++i) all[i] = static_cast<double>(i);
  return all;
}

plot::LineChart epsilon_chart(const EpsilonStatistics& e, const NormalizationOptions& o,
                              const Setting& s) {
  return {.title = concat(s.say("A row's variance afterwards, ε = ", "정규화한 행의 분산, ε = "),
                          show(o.eps, 2)),
          .series = {{"σ² / (σ² + ε)", e.variances, e.formula},
                     {.name = s.say("measured", "측정값"),
                      .x = e.variances,
                      .y = e.measured,
                      .joined = false}},
          .x = {.label = s.say("variance σ² before", "정규화 전 분산 σ²"), .logarithmic = true},
          .y = {.label = s.say("variance after", "정규화 후 분산"), .range = plot::Range{0, 1.1}}};
}

// Shares of the values in bins of equal width around 0.
plot::Bars affine_bars(const Affine& affine, const Setting& s) {
  constexpr int kBins = 11;
  double most = 1e-6;
  for (const auto* values : {&affine.gamma, &affine.beta}) {
    for (const double v : *values) most = std::max(most, std::abs(v));
  }
  const double width = 2 * most / kBins;
  const auto shares = [&](const std::vector<double>& values) {
    std::vector<double> bins(kBins, 0.0);
    for (const double v : values) {
      const auto bin = static_cast<size_t>(std::min((v + most) / width, kBins - 1.0));
      bins[bin] += 100 / static_cast<double>(values.size());
    }
    return bins;
  };
  plot::Bars bars{
      .title = s.say("γ and β of the trained LayerNorms", "학습된 층 정규화의 γ와 β"),
      .category_axis = s.say("distance from the first value", "초깃값에서 벗어난 크기"),
      .series = {{"γ − 1", shares(affine.gamma), {}, {}}, {"β", shares(affine.beta), {}, {}}},
      .value = {.label = s.say("share", "비율"), .unit = "%"}};
  for (int i = 0; i < kBins; ++i) {
    const double middle = -most + (i + 0.5) * width;
    bars.categories.push_back(2 * i + 1 == kBins ? "0" : show(middle, 2));
  }
  return bars;
}

using Profiles = std::array<StackProfile, 3>;

// One panel without norm and one with it, on the same scale.
void add_profiles(std::vector<plot::Panel>& panels, const NormalizationMeasures& m,
                  const Setting& s, std::vector<double> StackProfile::*field,
                  const std::string& what, const std::string& axis) {
  std::vector<const std::vector<double>*> all;
  for (const Profiles* profiles : {&m.without, &m.layer}) {
    for (const StackProfile& p : *profiles) all.push_back(&(p.*field));
  }
  const plot::Range range = plot::range_of(all, true);
  for (const Profiles* profiles : {&m.without, &m.layer}) {
    const std::string norm = profiles == &m.layer ? "LayerNorm" : s.say("no norm", "정규화 없음");
    plot::LineChart chart{.title = concat(what, ": ", norm),
                          .x = {.label = s.say("layer", "층")},
                          .y = {axis, "", true, plot::Range{range.low / 1.5, range.high * 1.5}}};
    for (size_t i = 0; i < m.gains.size(); ++i) {
      const std::vector<double>& y = (*profiles)[i].*field;
      chart.series.push_back(
          {concat(s.say("gain ", "초기 배율 "), show(m.gains[i], 3)), numbers_to(y.size()), y});
    }
    panels.emplace_back(std::move(chart));
  }
}

plot::LineChart curves_chart(const NormalizationMeasures& m, const Setting& s) {
  plot::LineChart chart{.title = s.say("Training", "학습"),
                        .x = {.label = s.say("update", "갱신 횟수")},
                        .y = {s.say("loss", "손실"), s.say("nats a position", "위치당 nat")}};
  for (size_t kind = 0; kind < kNormTrainings; ++kind) {
    const SmoothCurve curve = smooth(m.trainings()[kind].curve.loss);
    chart.series.push_back({name_of_training(kind, s), curve.step, curve.loss});
  }
  return chart;
}

plot::LineChart rates_chart(const NormalizationMeasures& m, const NormalizationOptions& o,
                            const Setting& s) {
  plot::LineChart chart{
      .title = concat(s.say("Updates to loss ", "손실 도달까지의 갱신 횟수: "), show(o.equal_loss)),
      .x = {.label = s.say("learning rate", "학습률"), .logarithmic = true},
      .y = {.label = s.say("updates", "갱신 횟수")}};
  for (size_t kind = 0; kind < kNormTrainings; ++kind) {
    plot::LineSeries series{.name = name_of_training(kind, s)};
    for (size_t i = 0; i < m.rates.size(); ++i) {
      series.x.push_back(kRates[i] * o.training.lr);
      series.y.push_back(m.rates[i][kind].updates(o.equal_loss));
    }
    chart.series.push_back(std::move(series));
  }
  return chart;
}

plot::LineChart drift_chart(const NormalizationMeasures& m, const NormalizationOptions& o,
                            const Setting& s) {
  const size_t updates = probe_interval(o);
  plot::LineChart chart{
      .title = concat(s.say("Drift of layer inputs within ", "층 입력 분포의 이동, 갱신 "), updates,
                      s.say(updates == 1 ? " update" : " updates", "회마다")),
      .x = {.label = s.say("layer", "층")},
      .y = {.label = s.say("drift, in deviations", "이동(표준편차 단위)")}};
  for (const size_t kind : {kWithout, kLayerNorm, kBatchNorm}) {
    const std::vector<double>& y = m.trainings()[kind].drift;
    chart.series.push_back({name_of_training(kind, s), numbers_to(y.size()), y});
  }
  return chart;
}

plot::LineChart neighbours_chart(const NormalizationMeasures& m, const Setting& s) {
  const std::vector<double> sizes(std::begin(kBatchSizes), std::end(kBatchSizes));
  const std::string ragged = s.say(", ragged", ", 길이 다름");
  return {.title = s.say("How far its neighbours move a sentence's output",
                         "이웃 문장이 한 문장의 출력을 움직이는 정도"),
          .series = {{"BatchNorm", sizes, m.batch_equal},
                     {"BatchNorm" + ragged, sizes, m.batch_ragged},
                     {"LayerNorm", sizes, m.layer_equal},
                     {"LayerNorm" + ragged, sizes, m.layer_ragged}},
          .x = {.label = s.say("sentences in the batch", "배치의 문장 수"), .logarithmic = true},
          .y = {.label = s.say("relative change", "상대 변화")}};
}

plot::Bars gaps_chart(const NormalizationMeasures& m, const NormalizationOptions& o,
                      const Setting& s) {
  plot::Bars bars{
      .title = concat(s.say("Held-out minus training loss, ", "검증 손실 − 학습 손실, 학습 문장 "),
                      o.set_sentences, s.say(" sentences", "개")),
      .category_axis = s.say("sentences of an update", "갱신당 문장 수"),
      .series = {{"LayerNorm", {}, {}, {}}, {"BatchNorm", {}, {}, {}}},
      .value = {s.say("difference", "차이"), s.say("nats a position", "위치당 nat")}};
  for (const BatchGaps& g : m.gaps) {
    bars.categories.push_back(std::to_string(g.batch));
    for (size_t i = 0; i < 2; ++i) {
      const std::vector<double>& gap = (i == 0 ? g.layer : g.batch_norm).gap;
      bars.series[i].values.push_back(mean_of(gap));
      bars.series[i].low.push_back(std::ranges::min(gap));
      bars.series[i].high.push_back(std::ranges::max(gap));
    }
  }
  return bars;
}

}  // namespace

std::string name_of_training(size_t kind, const Setting& s) {
  switch (kind) {
    case kWithout:
      return s.say("no norm", "정규화 없음");
    case kLayerNorm:
      return "LayerNorm";
    case kFixedLayerNorm:
      return s.say("LayerNorm, γ and β fixed", "LayerNorm, γ·β 고정");
    default:
      return "BatchNorm";
  }
}

plot::Figure figure_of(const NormalizationMeasures& m, const NormalizationOptions& o,
                       const Setting& s) {
  plot::Figure figure{
      .title = s.say("What normalisation does", "정규화의 효과"),
      .caption = concat(s.say("Untrained stacks of ", "학습하지 않은 스택 "), o.layers,
                        s.say(" layers, trained ones of ", "층, 학습한 스택 "), o.trained_layers,
                        s.say(" layers, y = Norm(x + f(x)). ", "층, y = Norm(x + f(x)). "),
                        describe(o.training, s), s.say("; mean of ", "; 학습 "), o.repeats,
                        s.say(" trainings", "회의 평균")),
      .columns = 2};
  figure.panels = {epsilon_chart(m.epsilon, o, s), affine_bars(m.affine, s)};
  add_profiles(figure.panels, m, s, &StackProfile::spread, s.say("Activations", "활성값"),
               s.say("root mean square", "제곱평균제곱근"));
  add_profiles(figure.panels, m, s, &StackProfile::gradient, s.say("Gradient", "그래디언트"),
               s.say("norm", "노름"));
  figure.panels.insert(figure.panels.end(),
                       {curves_chart(m, s), rates_chart(m, o, s), drift_chart(m, o, s),
                        neighbours_chart(m, s), gaps_chart(m, o, s)});
  return figure;
}

}  // namespace rapt::insight

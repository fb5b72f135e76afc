#include <algorithm>
#include <numeric>

#include "rapt/insight/residual_measure.h"
#include "rapt/insight/result.h"

namespace rapt::insight {
namespace {

using Values = std::vector<double>;

plot::LineSeries line(std::string name, const Values& y, double first = 1) {
  Values x(y.size());
  std::iota(x.begin(), x.end(), first);
  return {std::move(name), std::move(x), y};
}

void add_chains(std::vector<plot::Panel>& panels, const ResidualMeasurements& m, const Setting& s) {
  plot::LineChart without{
      .title = s.say("Chain of slopes F′, without: ∏F′", "기울기 F′의 사슬, 잔차 없음: ∏F′"),
      .x = {.label = s.say("layers passed", "지나온 층 수")},
      .y = {.label = "|dL/dx|", .logarithmic = true}};
  plot::LineChart with = without;
  with.title = s.say("… with residuals: ∏(1 + F′)", "… 잔차 있음: ∏(1 + F′)");
  std::vector<const Values*> all;
  for (size_t i = 0; i < m.slopes.size(); ++i) {
    const std::string name = show(m.slopes[i]);
    without.series.push_back(line(name, m.numbers[i].without, 0));
    with.series.push_back(line(name, m.numbers[i].with, 0));
    all.insert(all.end(), {&m.numbers[i].without, &m.numbers[i].with});
  }
  without.series[0].name = "±" + show(m.slopes[1]);  // of one size: one line
  without.series.erase(without.series.begin() + 1);
  without.y.range = with.y.range = plot::range_of(all, true);
  panels.insert(panels.end(), {without, with});
}

void add_stacks(std::vector<plot::Panel>& panels, const ResidualMeasurements& m, const Setting& s) {
  const plot::Axis layer{.label = s.say("layer", "층")};
  plot::LineChart gradient{
      .title = s.say("Stack as drawn: gradient at each layer's input",
                     "학습 전의 층들: 각 층 입력의 그래디언트"),
      .x = layer,
      .y = {.label = s.say("|dL/dx| / that of the last layer", "|dL/dx| / 마지막 층의 |dL/dx|"),
            .logarithmic = true}};
  plot::LineChart recovered{
      .title = s.say("Input recovered by a linear read-out", "선형 판독으로 복원되는 입력"),
      .x = {.label = s.say("layers passed", "지나온 층 수")},
      .y = {.label = "R²", .range = plot::Range{0, 1}}};
  plot::LineChart alike{
      .title = s.say("Likeness of a sentence's positions", "한 문장 안 위치들의 유사도"),
      .x = recovered.x,
      .y = {.label = s.say("mean cosine", "평균 코사인")}};
  for (size_t i = 0; i < kResiduals.size(); ++i) {
    const std::string name = title_of(kResiduals[i], s);
    gradient.series.push_back(line(name, m.gradient[i]));
    Values shown = m.recovered[i];  // a read-out may be worse than the mean
    for (double& v : shown) v = std::max(v, 0.0);
    recovered.series.push_back(line(name, shown, 0));
    alike.series.push_back(line(name, m.alike[i], 0));
  }
  panels.insert(panels.end(), {gradient, recovered, alike});
}

void add_parts(std::vector<plot::Panel>& panels, const ResidualMeasurements& m, const Setting& s) {
  const auto chart = [&](const std::string& title, const GradientParts& parts) {
    return plot::LineChart{
        .title = title,
        .series = {line(s.say("through the 1", "1을 통한 부분"), parts.through_one),
                   line(s.say("through F", "F를 통한 부분"), parts.through_f)},
        .x = {.label = s.say("sub-layer", "하위 층")},
        .y = {.label = s.say("|part of dL/dx| / |dL/dy|", "|dL/dx의 부분| / |dL/dy|")}};
  };
  plot::LineChart pre =
      chart(s.say("Parts of the gradient, pre-LN", "그래디언트의 두 부분, pre-LN"), m.pre);
  plot::LineChart post =
      chart(s.say("Parts of the gradient, post-LN", "그래디언트의 두 부분, post-LN"), m.post);
  const plot::Range range = plot::range_of(
      {&m.pre.through_one, &m.pre.through_f, &m.post.through_one, &m.post.through_f});
  pre.y.range = post.y.range = plot::Range{0, 1.05 * range.high};
  panels.insert(panels.end(), {pre, post});
}

void add_fits(std::vector<plot::Panel>& panels, const ResidualMeasurements& m, const Setting& s) {
  plot::LineChart fits{
      .title = s.say("Fitting H directly, and as x + F(x)", "H를 직접, 또는 x + F(x)로 맞추기"),
      .x = {.label = s.say("update", "갱신 횟수")},
      .y = {.label = s.say("mean squared error", "평균 제곱 오차"), .logarithmic = true}};
  const auto add = [&](std::string name, const Values& losses) {
    const SmoothCurve curve = smooth(losses);
    fits.series.push_back({std::move(name), curve.step, curve.loss});
  };
  add(s.say("H ≈ x, directly", "H ≈ x, 직접"), m.direct);
  add("H ≈ x, x + F(x)", m.residual);
  add(s.say("H ≈ -x, directly", "H ≈ -x, 직접"), m.mirror_direct);
  add("H ≈ -x, x + F(x)", m.mirror_residual);
  panels.emplace_back(fits);
}

void add_ratios(std::vector<plot::Panel>& panels, const ResidualMeasurements& m, const Setting& s) {
  plot::LineChart ratios{
      .title = s.say("Trained stacks: size of the change", "학습된 층들: 변화량의 크기"),
      .x = {.label = s.say("layer", "층")},
      .y = {.label = s.say("mean |F(x)| / |x|", "|F(x)| / |x|의 평균")}};
  for (size_t kind = 0; kind < m.ratios.size(); ++kind) {
    for (size_t part = 0; part < 2; ++part) {
      Values values;
      for (size_t i = part; i < m.ratios[kind].size(); i += 2) values.push_back(m.ratios[kind][i]);
      ratios.series.push_back(line(concat(kind == 0 ? "post-LN, " : "pre-LN, ",
                                          part == 0 ? s.say("attention", "어텐션") : "FFN"),
                                   values));
    }
  }
  panels.emplace_back(ratios);
}

}  // namespace

std::string title_of(Residual kind, const Setting& s) {
  switch (kind) {
    case Residual::kNone:
      return s.say("none: F(x)", "없음: F(x)");
    case Residual::kPlain:
      return s.say("residual only: x + F(x)", "잔차만: x + F(x)");
    case Residual::kPost:
      return "post-LN: LN(x + F(x))";
    case Residual::kPre:
      return "pre-LN: x + F(LN(x))";
    case Residual::kBranch:
      return "x + LN(F(x))";
    case Residual::kDeepNorm:
      return "DeepNorm: LN(αx + F(x))";
  }
  throw Error("a residual without a title");
}

std::vector<plot::Panel> panels_of(const ResidualMeasurements& m, const Setting& s) {
  std::vector<plot::Panel> panels;
  add_chains(panels, m, s);
  add_stacks(panels, m, s);
  add_fits(panels, m, s);
  add_parts(panels, m, s);
  add_ratios(panels, m, s);
  return panels;
}

}  // namespace rapt::insight

#include "rapt/insight/residual.h"

#include <cmath>

#include "rapt/insight/residual_measure.h"
#include "rapt/insight/result.h"
#include "rapt/insight/statistics.h"
#include "rapt/models/config.h"

namespace rapt::insight {
namespace {

using Measurements = ResidualMeasurements;

Table chains_of(const Measurements& m, const ResidualOptions& o, const Setting& s) {
  Table table{"chains",
              s.say(concat("Gradient after a chain of ", o.layers, " layers"),
                    concat(o.layers, "층의 사슬을 지난 그래디언트")),
              {{"slope", "F′"},
               {"without", "∏F′"},
               {"with", "∏(1 + F′)"},
               {"vectors_without", s.say("random matrices, without", "무작위 행렬, 잔차 없음")},
               {"vectors_with", s.say("random matrices, with", "무작위 행렬, 잔차 있음")}},
              {}};
  for (size_t i = 0; i < m.slopes.size(); ++i) {
    table.rows.push_back({m.slopes[i], m.numbers[i].without.back(), m.numbers[i].with.back(),
                          m.vectors[i].without.back(), m.vectors[i].with.back()});
  }
  return table;
}

Table stacks_of(const Measurements& m, const ResidualOptions& o, const Setting& s) {
  Table table{"stacks",
              s.say(concat("Stacks of ", o.layers, " layers, as they are drawn"),
                    concat("학습 전의 ", o.layers, "층")),
              {{"residual", s.say("joined as", "연결 방식")},
               {"gradient", s.say("|dL/dx|, first / last layer", "|dL/dx|, 첫 층 / 마지막 층")},
               {"recovered", s.say("R² of the input in the output", "출력에서 복원되는 입력의 R²")},
               {"alike", s.say("cosine of positions", "위치 간 코사인")}},
              {}};
  for (size_t i = 0; i < kResiduals.size(); ++i) {
    table.rows.push_back({title_of(kResiduals[i], s), m.gradient[i].front(), m.recovered[i].back(),
                          m.alike[i].back()});
  }
  return table;
}

Table fits_of(const Measurements& m, const ResidualOptions& o, const Setting& s) {
  Table table{"fits",
              s.say("Updates until a tenth of the change's square is left",
                    "오차가 변화량 제곱의 1/10이 될 때까지의 갱신 횟수"),
              {{"target", s.say("target", "목표")},
               {"direct", s.say("as F(x)", "F(x)로")},
               {"residual", s.say("as x + F(x)", "x + F(x)로")}},
              {}};
  const auto cell = [&](const std::vector<double>& losses) {
    const auto updates = Measurements::updates(losses, o.change);
    return updates ? Cell(*updates) : Cell(s.say("not reached", "도달 못함"));
  };
  const std::string change = concat(show(o.change), "·G(x)");
  table.rows = {{"H = x + " + change, cell(m.direct), cell(m.residual)},
                {"H = -x + " + change, cell(m.mirror_direct), cell(m.mirror_residual)}};
  return table;
}

std::vector<std::pair<std::string, double>> numbers_of(const Measurements& m,
                                                       const ResidualOptions& o) {
  std::vector<std::pair<std::string, double>> numbers;
  for (size_t i = 0; i < kResiduals.size(); ++i) {
    const std::string kind(name_of(kResiduals[i]));
    numbers.emplace_back("gradient_" + kind, m.gradient[i].front());
    numbers.emplace_back("recovered_" + kind, m.recovered[i].back());
    numbers.emplace_back("alike_" + kind, m.alike[i].back());
  }
  numbers.emplace_back("one_pre", mean_of(m.pre.through_one));
  numbers.emplace_back("one_post", mean_of(m.post.through_one));
  numbers.emplace_back("through_f_pre", mean_of(m.pre.through_f));
  numbers.emplace_back("through_f_post", mean_of(m.post.through_f));
  constexpr std::array kSlopes = {"minus_factor", "factor", "one", "inverse_factor"};
  for (size_t i = 0; i < m.slopes.size(); ++i) {
    numbers.emplace_back(concat("chain_without_", kSlopes[i]), m.numbers[i].without.back());
    numbers.emplace_back(concat("chain_with_", kSlopes[i]), m.numbers[i].with.back());
    numbers.emplace_back(concat("vectors_without_", kSlopes[i]), m.vectors[i].without.back());
    numbers.emplace_back(concat("vectors_with_", kSlopes[i]), m.vectors[i].with.back());
  }
  const auto updates = [&](const std::vector<double>& losses) {
    const auto reached = Measurements::updates(losses, o.change);
    return reached ? static_cast<double>(*reached) : INFINITY;
  };
  numbers.emplace_back("fit_direct", updates(m.direct));
  numbers.emplace_back("fit_residual", updates(m.residual));
  numbers.emplace_back("fit_mirror_direct", updates(m.mirror_direct));
  numbers.emplace_back("fit_mirror_residual", updates(m.mirror_residual));
  numbers.emplace_back("trained_loss_post", m.trained_loss[0]);
  numbers.emplace_back("trained_loss_pre", m.trained_loss[1]);
  numbers.emplace_back("change_post", mean_of(m.ratios[0]));
  numbers.emplace_back("change_pre", mean_of(m.ratios[1]));
  return numbers;
}

// The gradient has vanished when less than a hundredth of it is left.
constexpr double kVanished = 0.01;

void conclude(Result& result, const Measurements& m, const ResidualOptions& o, const Setting& s) {
  const auto left = [&](size_t kind) { return m.gradient[kind].front(); };
  const double cancelled = m.numbers[0].with.back();
  const bool carried =
      left(0) < kVanished && left(1) >= kVanished && left(2) >= kVanished && left(3) >= kVanished;
  result.verdict = !carried                 ? Verdict::kFails
                   : cancelled >= kVanished ? Verdict::kHolds
                                            : Verdict::kHoldsWhen;
  const auto digits = [](double v) { return show(v, 2); };
  const auto none = digits(left(0)), plain = digits(left(1)), post = digits(left(2)),
             pre = digits(left(3)), one = digits(mean_of(m.post.through_one)),
             slope = digits(m.slopes[0]), lost = digits(cancelled);
  const bool when = result.verdict == Verdict::kHoldsWhen;
  result.sentence = s.say(
      concat(when ? concat("F′ stays away from -1 (with F′ = ", slope, " in each of ", o.layers,
                           " layers ∏(1 + F′) is ", lost, "). ")
                  : "",
             "In a stack of ", o.layers, " layers as drawn, the gradient at the first layer is ",
             none, " times that at the last without residuals; with them ", pre, " (pre-LN), ",
             post, " (post-LN, where LayerNorm leaves ", one, " of the 1 in each sub-layer) and ",
             plain,
             " (x + F(x) alone): the 1 keeps the gradient from vanishing, not from exploding. A "
             "linear "
             "read-out of the output recovers R² = ",
             digits(m.recovered[3].back()), ", ", digits(m.recovered[2].back()), " and ",
             digits(m.recovered[1].back()), " of the input, ", digits(m.recovered[0].back()),
             " without residuals."),
      concat(when ? concat("F′이 -1에서 떨어져 있을 때이다(", o.layers, "층 모두에서 F′ = ", slope,
                           "이면 ∏(1 + F′)은 ", lost, "). ")
                  : "",
             "학습 전 ", o.layers,
             "층에서 첫 층의 그래디언트는 마지막 층의 그래디언트에 비해 잔차가 "
             "없으면 ",
             none, "배이고, 있으면 pre-LN은 ", pre, "배, post-LN은 ", post,
             "배(LayerNorm이 하위 층마다 1을 ", one, "배로 줄인다), x + F(x)만 쓰면 ", plain,
             "배이다. 즉 1은 그래디언트의 소실을 막지만 폭발은 막지 못한다. 출력에서 선형 판독으로 "
             "복원되는 입력은 차례로 R² = ",
             digits(m.recovered[3].back()), ", ", digits(m.recovered[2].back()), ", ",
             digits(m.recovered[1].back()), "이고 잔차가 없으면 ", digits(m.recovered[0].back()),
             "이다."));
}

}  // namespace

Result residual(const ResidualOptions& o, const Setting& s) {
  o.training.validate();
  check(o.training.length > 1, "--length is 1, expected at least 2: one position has no other");
  const Measurements m = measure(o, s);
  Result result;
  result.figure = {.title = s.say("Residual connections", "잔차 연결"),
                   .caption = s.say(concat("Stacks of ", o.layers, " layers, trained ones of ",
                                           o.trained_layers, ". ", describe(o.training, s)),
                                    concat("학습 전 ", o.layers, "층, 학습 ", o.trained_layers,
                                           "층. ", describe(o.training, s))),
                   .panels = panels_of(m, s),
                   .columns = 2};
  result.tables = {chains_of(m, o, s), stacks_of(m, o, s), fits_of(m, o, s)};
  result.numbers = numbers_of(m, o);
  conclude(result, m, o, s);
  return result;
}

}  // namespace rapt::insight

#include "rapt/insight/depth.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "rapt/base/scalar_math.h"
#include "rapt/insight/residual_measure.h"
#include "rapt/insight/result.h"
#include "rapt/models/config.h"

namespace rapt::insight {
namespace {

constexpr size_t kMostLayers = 1000;

enum class Outcome { kTrains, kSlow, kStandsStill, kDiverges };

struct Run {
  size_t layers;
  Residual residual;
  Curve curve;

  std::string key(std::string_view what) const {
    return concat(what, '_', name_of(residual), '_', layers);
  }
};

std::vector<std::string> parts_of(std::string_view list) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    parts.emplace_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::vector<size_t> depths_of(const std::string& list) {
  std::vector<size_t> depths;
  for (const std::string& part : parts_of(list)) {
    size_t layers = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), layers);
    check(error == std::errc() && end == part.data() + part.size() && layers >= 1 &&
              layers <= kMostLayers,
          "--depths is '", list, "', expected numbers of layers from 1 to ", kMostLayers,
          " with commas between, such as 6,24");
    depths.push_back(layers);
  }
  std::ranges::sort(depths);
  depths.erase(std::unique(depths.begin(), depths.end()), depths.end());
  return depths;
}

std::vector<Residual> residuals_of(const std::string& list) {
  std::vector<Residual> kinds;
  for (const std::string& part : parts_of(list)) {
    const auto kind = value_of<Residual>(part, "--residuals");
    if (std::ranges::find(kinds, kind) == kinds.end()) kinds.push_back(kind);
  }
  check(std::ranges::find(kinds, Residual::kPost) != kinds.end(), "--residuals is '", list,
        "', expected post among them, which the claim is about");
  return kinds;
}

Outcome outcome_of(const Curve& curve, double chance) {
  const double end = curve.end();
  if (!curve.finite || end > 1.1 * chance) return Outcome::kDiverges;
  if (end > 0.9 * chance) return Outcome::kStandsStill;
  return end <= 0.5 * chance ? Outcome::kTrains : Outcome::kSlow;
}

std::string title_of(Outcome outcome, const Setting& s) {
  switch (outcome) {
    case Outcome::kTrains:
      return s.say("trains", "학습됨");
    case Outcome::kSlow:
      return s.say("slow", "느림");
    case Outcome::kStandsStill:
      return s.say("stands still", "제자리");
    case Outcome::kDiverges:
      return s.say("diverges", "발산");
  }
  throw Error("an outcome without a title");
}

// The deepest stacks first, since they take longest.
std::vector<Run> run_all(const DepthOptions& o, const Setting& setting) {
  std::vector<Run> runs;
  std::vector<size_t> depths = depths_of(o.depths);
  for (auto layers = depths.rbegin(); layers != depths.rend(); ++layers) {
    for (const Residual kind : residuals_of(o.residuals)) runs.push_back({*layers, kind, {}});
  }
  const auto make = [&](size_t i) {
    return residual_model(o.training, runs[i].residual, runs[i].layers, setting.seed);
  };
  std::vector<Curve> curves = train_all(runs.size(), o.training, setting.seed, make, setting.pool);
  for (size_t i = 0; i < runs.size(); ++i) runs[i].curve = std::move(curves[i]);
  std::ranges::stable_sort(runs, {}, &Run::layers);
  return runs;
}

Table table_of(const std::vector<Run>& runs, double chance, const Setting& s) {
  Table table{
      "runs",
      s.say("The same training at every depth", "같은 학습을 깊이만 바꾸어"),
      {{"layers", s.say("layers", "층")},
       {"residual", s.say("joined as", "연결 방식")},
       {"loss", s.say("loss at the end", "마지막 손실")},
       {"half", s.say("updates to half of chance", "손실이 추측의 절반이 될 때까지의 갱신")},
       {"first_gradient", s.say("|gradient|, first", "첫 |그래디언트|")},
       {"largest_gradient", s.say("|gradient|, largest", "최대 |그래디언트|")},
       {"outcome", s.say("outcome", "결과")}},
      {}};
  for (const Run& run : runs) {
    const auto half = run.curve.reaches(chance / 2);
    const auto& norms = run.curve.grad_norm;
    table.rows.push_back({run.layers, title_of(run.residual, s), run.curve.end(),
                          half ? Cell(*half) : Cell(s.say("never", "도달 못함")),
                          norms.empty() ? NAN : norms.front(),
                          norms.empty() ? NAN : *std::ranges::max_element(norms),
                          title_of(outcome_of(run.curve, chance), s)});
  }
  return table;
}

plot::Figure figure_of(const std::vector<Run>& runs, const DepthOptions& o, double chance,
                       const Setting& s) {
  const double top = 1.5 * chance;  // what diverges would leave nothing to see of the others
  plot::Figure figure;
  size_t layers = 0;
  for (const Run& run : runs) {
    if (run.layers != layers) {
      layers = run.layers;
      figure.panels.push_back(
          plot::LineChart{.title = concat(layers, s.say(layers == 1 ? " layer" : " layers", "층")),
                          .series = {{s.say("chance", "무작위 추측"),
                                      {1, static_cast<double>(o.training.steps)},
                                      {chance, chance}}},
                          .x = {.label = s.say("update", "갱신 횟수")},
                          .y = {s.say("loss", "손실"), s.say("nats a position", "위치당 nat"),
                                false, plot::Range{0, top}}});
    }
    SmoothCurve curve = smooth(run.curve.loss);
    for (double& loss : curve.loss) loss = loss > top ? NAN : loss;
    std::get<plot::LineChart>(figure.panels.back())
        .series.push_back({title_of(run.residual, s), curve.step, curve.loss});
  }
  figure.title =
      s.say("Depth, and how a sub-layer is joined to its input", "깊이와 하위 층의 연결 방식");
  figure.caption =
      concat(describe(o.training, s), s.say(". A curve that is missing lies above its panel",
                                            ". 보이지 않는 곡선은 그림 위로 벗어나 있다"));
  figure.columns = std::min<size_t>(2, figure.panels.size());
  return figure;
}

}  // namespace

Result depth(const DepthOptions& o, const Setting& setting) {
  o.training.validate();
  const double chance = scalar::log(static_cast<double>(o.training.symbols));
  const std::vector<Run> runs = run_all(o, setting);

  Result result;
  result.figure = figure_of(runs, o, chance, setting);
  result.tables = {table_of(runs, chance, setting)};
  result.numbers = {{"chance", chance}};
  const auto end = [&](const Run& run) {
    return run.curve.finite ? show(run.curve.end(), 3) : setting.say("diverges", "발산");
  };
  size_t deepest = 0, trains = 0;  // of post-LN
  std::string post, others;
  for (const Run& run : runs) {
    result.numbers.emplace_back(run.key("loss"), run.curve.end());
    const bool good = outcome_of(run.curve, chance) == Outcome::kTrains;
    deepest = run.layers;
    if (run.residual != Residual::kPost) continue;
    if (good) trains = run.layers;
    post += concat(post.empty() ? "" : ", ", end(run), setting.say(" with ", "("), run.layers,
                   setting.say(run.layers == 1 ? " layer" : " layers", "층)"));
  }
  for (const Run& run : runs) {
    if (run.layers != deepest || run.residual == Residual::kPost) continue;
    others +=
        concat(others.empty() ? "" : ", ", name_of(run.residual), ' ', show(run.curve.end(), 3));
  }
  result.numbers.emplace_back("deepest_post", trains);
  result.verdict = trains == deepest ? Verdict::kHolds
                   : trains >= 10    ? Verdict::kHoldsWhen
                                     : Verdict::kFails;
  const bool when = result.verdict == Verdict::kHoldsWhen;
  result.sentence = setting.say(
      concat(when ? concat("the stack has at most ", trains, " layers: ") : "",
             "post-LN ends at a loss of ", post, ", where chance is ", show(chance, 3),
             others.empty() ? "" : concat("; the others with ", deepest, " layers: ", others), "."),
      concat(when ? concat("층이 ", trains, "개 이하일 때이다. ") : "",
             "무작위로 추측할 때의 손실이 ", show(chance, 3), "일 때 post-LN의 마지막 손실은 ",
             post, "이다.",
             others.empty() ? "" : concat(" ", deepest, "층에서 다른 방식의 손실: ", others, ".")));
  return result;
}

}  // namespace rapt::insight

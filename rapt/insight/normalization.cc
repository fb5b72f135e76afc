#include "rapt/insight/normalization.h"

#include <algorithm>
#include <cmath>

#include "rapt/insight/normalization_figure.h"
#include "rapt/insight/result.h"

namespace rapt::insight {
namespace {

constexpr std::array kGainNames = {"low", "one", "high"};
constexpr std::array kKindNames = {"none", "layer", "fixed", "batch"};

NormalizationMeasures measure(const NormalizationOptions& o, const Setting& s) {
  NormalizationMeasures m;
  m.rows = row_statistics(o.tokens, o.features, o.eps, s.seed, s.pool);
  m.epsilon = epsilon_statistics(o.features, o.eps, s.seed, s.pool);
  m.gains = {1 / o.gain, 1, o.gain};
  const TaskBatch batch = task_batch(o.training, s.seed, 0, o.training.batch);
  for (size_t i = 0; i < m.gains.size(); ++i) {
    const auto profile_of = [&](NormKind norm) {
      const auto model = make_model({norm, o.eps, m.gains[i], o.layers}, o.training, s.seed);
      return profile(*model, batch, s.pool);
    };
    m.without[i] = profile_of(NormKind::kNone);
    m.layer[i] = profile_of(NormKind::kLayer);
  }
  m.rates = train_norms_at_rates(o, s);
  m.affine = affine_of(*m.trainings()[kLayerNorm].model);
  const auto moved = [&](NormTraining kind, const NeighbourOptions& neighbours) {
    return moved_by_neighbours(*m.trainings()[kind].model, o.training, neighbours, s.seed, s.pool);
  };
  m.layer_equal = moved(kLayerNorm, {});
  m.layer_ragged = moved(kLayerNorm, {.ragged = true});
  m.batch_equal = moved(kBatchNorm, {});
  m.batch_ragged = moved(kBatchNorm, {.ragged = true});
  m.batch_evaluation = moved(kBatchNorm, {Mode::kInference, true});
  m.gaps = train_gaps(o, s);
  return m;
}

Table statistics_table(const NormalizationMeasures& m, const Setting& s) {
  Table table{"statistics",
              s.say("A sentence: least and greatest statistics of its tokens, and its own",
                    "한 문장: 토큰별 통계량의 최소·최대와 문장 전체의 통계량"),
              {{"normalized", s.say("normalised", "정규화")},
               {"mean_low", s.say("token mean", "토큰 평균")},
               {"mean_high", "…"},
               {"variance_low", s.say("token variance", "토큰 분산")},
               {"variance_high", "…"},
               {"mean", s.say("sentence mean", "문장 평균")},
               {"variance", s.say("variance", "분산")},
               {"coupling", s.say("moves with another token", "다른 토큰에 따른 변화")}},
              {}};
  const auto add = [&](std::string name, const SentenceStatistics& r) {
    table.rows.push_back({std::move(name), r.token_means.low, r.token_means.high,
                          r.token_variances.low, r.token_variances.high, r.mean, r.variance,
                          r.coupling});
  };
  add(s.say("not at all", "안 함"), m.rows.before);
  add(s.say("each token (LayerNorm)", "토큰마다(LayerNorm)"), m.rows.per_token);
  add(s.say("the whole sentence", "문장 전체"), m.rows.per_sentence);
  return table;
}

Table epsilon_table(const EpsilonStatistics& e, const Setting& s) {
  Table table{"epsilon",
              concat(s.say("A row of variance σ²; NaN of a constant row: ",
                           "분산이 σ²인 행; 값이 모두 같은 행의 NaN: "),
                     show(e.constant_nan), s.say(" % with ε, ", "%(ε 있음), "),
                     show(e.unguarded_nan), s.say(" % without", "%(ε 없음)")),
              {{"variance", "σ²"},
               {"measured", s.say("variance after", "정규화 후 분산")},
               {"formula", "σ² / (σ² + ε)"}},
              {}};
  for (size_t i = 0; i < e.variances.size(); ++i) {
    table.rows.push_back({e.variances[i], e.measured[i], e.formula[i]});
  }
  return table;
}

Table stacks_table(const NormalizationMeasures& m, const NormalizationOptions& o,
                   const Setting& s) {
  Table table{
      "stacks",
      concat(o.layers, s.say(" layers: last over first of the activations' root mean "
                             "square, first over last of the gradient's norm",
                             "층: 활성값 크기의 마지막/처음, 그래디언트 노름의 처음/마지막")),
      {{"gain", s.say("gain", "초기 배율")},
       {"spread_none", s.say("activations, no norm", "활성값, 정규화 없음")},
       {"spread_layer", s.say("LayerNorm", "LayerNorm")},
       {"gradient_none", s.say("gradient, no norm", "그래디언트, 정규화 없음")},
       {"gradient_layer", s.say("LayerNorm", "LayerNorm")}},
      {}};
  for (size_t i = 0; i < m.gains.size(); ++i) {
    table.rows.push_back({m.gains[i], m.without[i].growth(), m.layer[i].growth(),
                          m.without[i].gradient_ratio(), m.layer[i].gradient_ratio()});
  }
  return table;
}

Table trainings_table(const NormalizationMeasures& m, const NormalizationOptions& o,
                      const Setting& s) {
  Table table{
      "trainings",
      s.say("Trainings", "학습"),
      {{"norm", s.say("norm", "정규화")},
       {"updates", concat(s.say("updates to loss ", "도달 갱신 수, 손실 "), show(o.equal_loss))},
       {"held_out", s.say("held-out loss", "검증 손실")},
       {"least", s.say("least", "최소")},
       {"most", s.say("most", "최대")},
       {"drift", s.say("drift, mean of layers", "이동, 층 평균")}},
      {}};
  for (size_t kind = 0; kind < kNormTrainings; ++kind) {
    const NormTrainings& t = m.trainings()[kind];
    table.rows.push_back({name_of_training(kind, s), t.updates(o.equal_loss), mean_of(t.held_out),
                          std::ranges::min(t.held_out), std::ranges::max(t.held_out),
                          mean_of(t.drift)});
  }
  return table;
}

Table rates_table(const NormalizationMeasures& m, const NormalizationOptions& o, const Setting& s) {
  Table table{"rates",
              concat(s.say("Updates to loss ", "손실 도달까지의 갱신 횟수: "), show(o.equal_loss)),
              {{"lr", s.say("learning rate", "학습률")}},
              {}};
  for (size_t kind = 0; kind < kNormTrainings; ++kind) {
    table.columns.push_back({kKindNames[kind], name_of_training(kind, s)});
  }
  for (size_t i = 0; i < m.rates.size(); ++i) {
    std::vector<Cell> row = {kRates[i] * o.training.lr};
    for (const NormTrainings& t : m.rates[i]) row.emplace_back(t.updates(o.equal_loss));
    table.rows.push_back(std::move(row));
  }
  return table;
}

// Over all learning rates the fewest updates; infinite when the loss is never reached.
double fewest_updates(const NormalizationMeasures& m, size_t kind, double loss) {
  double fewest = INFINITY;
  for (const NormComparison& trainings : m.rates) {
    fewest = std::fmin(fewest, trainings[kind].updates(loss));  // of NaN and a number, the number
  }
  return fewest;
}

Table neighbours_table(const NormalizationMeasures& m, const Setting& s) {
  const std::string ragged = s.say(", ragged", ", 길이 다름");
  Table table{"neighbours",
              s.say("How far other neighbours move a sentence's output",
                    "이웃 문장이 바뀔 때 한 문장의 출력이 움직이는 정도"),
              {{"batch", s.say("batch", "배치")},
               {"layer", "LayerNorm"},
               {"layer_ragged", "LayerNorm" + ragged},
               {"batch_norm", "BatchNorm"},
               {"batch_norm_ragged", "BatchNorm" + ragged},
               {"batch_norm_evaluation", s.say("BatchNorm, after training", "BatchNorm, 학습 후")}},
              {}};
  for (size_t i = 0; i < std::size(kBatchSizes); ++i) {
    table.rows.push_back({kBatchSizes[i], m.layer_equal[i], m.layer_ragged[i], m.batch_equal[i],
                          m.batch_ragged[i], m.batch_evaluation[i]});
  }
  return table;
}

Table gaps_table(const NormalizationMeasures& m, const Setting& s) {
  Table table{
      "gaps",
      s.say("Training on a set of its own size: loss of the set, of new sentences, difference",
            "정해진 문장 집합으로 학습: 학습 손실, 검증 손실, 차이"),
      {{"batch", s.say("batch", "배치")},
       {"norm", s.say("norm", "정규화")},
       {"training", s.say("training", "학습")},
       {"held_out", s.say("held out", "검증")},
       {"gap", s.say("difference", "차이")}},
      {}};
  for (const BatchGaps& g : m.gaps) {
    for (const auto& [name, gap] : {std::pair{"LayerNorm", g.layer}, {"BatchNorm", g.batch_norm}}) {
      table.rows.push_back(
          {g.batch, name, mean_of(gap.training), mean_of(gap.held_out), mean_of(gap.gap)});
    }
  }
  return table;
}

std::vector<std::pair<std::string, double>> numbers_of(const NormalizationMeasures& m,
                                                       const NormalizationOptions& o) {
  const SentenceStatistics &token = m.rows.per_token, &sentence = m.rows.per_sentence;
  std::vector<std::pair<std::string, double>> numbers = {
      {"token_mean", std::max(-token.token_means.low, token.token_means.high)},
      {"token_variance_low", token.token_variances.low},
      {"token_variance_high", token.token_variances.high},
      {"token_coupling", token.coupling},
      {"sentence_mean", sentence.mean},
      {"sentence_variance", sentence.variance},
      {"sentence_token_variance_low", sentence.token_variances.low},
      {"sentence_token_variance_high", sentence.token_variances.high},
      {"sentence_coupling", sentence.coupling},
      {"epsilon_error", m.epsilon.worst},
      {"constant_row", m.epsilon.constant},
      {"constant_row_nan", m.epsilon.constant_nan},
      {"constant_row_nan_without_epsilon", m.epsilon.unguarded_nan}};
  for (size_t i = 0; i < m.gains.size(); ++i) {
    const std::string gain = kGainNames[i];
    numbers.insert(numbers.end(), {{"spread_none_" + gain, m.without[i].growth()},
                                   {"spread_layer_" + gain, m.layer[i].growth()},
                                   {"gradient_none_" + gain, m.without[i].gradient_ratio()},
                                   {"gradient_layer_" + gain, m.layer[i].gradient_ratio()}});
  }
  for (size_t kind = 0; kind < kNormTrainings; ++kind) {
    const NormTrainings& t = m.trainings()[kind];
    const std::string name = kKindNames[kind];
    numbers.insert(numbers.end(),
                   {{"updates_" + name, t.updates(o.equal_loss)},
                    {"fewest_updates_" + name, fewest_updates(m, kind, o.equal_loss)},
                    {"loss_" + name, mean_of(t.held_out)},
                    {"drift_" + name, mean_of(t.drift)}});
  }
  numbers.insert(
      numbers.end(),
      {{"moved_layer", std::max(std::ranges::max(m.layer_equal), std::ranges::max(m.layer_ragged))},
       {"moved_batch_2", m.batch_equal[1]},
       {"moved_batch_64", m.batch_equal.back()},
       {"moved_batch_ragged_2", m.batch_ragged[1]},
       {"moved_batch_ragged_64", m.batch_ragged.back()},
       {"moved_batch_evaluation", std::ranges::max(m.batch_evaluation)}});
  for (const BatchGaps& g : m.gaps) {
    numbers.emplace_back(concat("gap_layer_", g.batch), mean_of(g.layer.gap));
    numbers.emplace_back(concat("gap_batch_", g.batch), mean_of(g.batch_norm.gap));
    numbers.emplace_back(concat("held_out_layer_", g.batch), mean_of(g.layer.held_out));
    numbers.emplace_back(concat("held_out_batch_", g.batch), mean_of(g.batch_norm.held_out));
  }
  return numbers;
}

// The parts of the claim, each decided by its numbers.
struct Parts {
  bool statistics, independent, stable, faster, calmer, regularises, large_batches;
};
Parts decide(const NormalizationMeasures& m, const NormalizationOptions& o) {
  const auto within = [](double v, double factor) { return v > 1 / factor && v < factor; };
  Parts p{};
  const SentenceStatistics& token = m.rows.per_token;
  p.statistics = std::max(-token.token_means.low, token.token_means.high) < 1e-3 &&
                 std::abs(token.token_variances.low - 1) < 1e-2 &&
                 std::abs(token.token_variances.high - 1) < 1e-2 && token.coupling == 0;
  p.independent = std::ranges::max(m.layer_equal) == 0 && std::ranges::max(m.layer_ragged) == 0 &&
                  m.batch_equal[1] > 0;
  p.stable = std::ranges::all_of(m.layer, [&](const StackProfile& s) {
    return within(s.growth(), 2) && within(s.gradient_ratio(), 10);
  });
  p.stable = p.stable && m.without.back().growth() > 10;
  p.faster =
      fewest_updates(m, kLayerNorm, o.equal_loss) < fewest_updates(m, kWithout, o.equal_loss);
  p.calmer = mean_of(m.trainings()[kLayerNorm].drift) < mean_of(m.trainings()[kWithout].drift);
  p.regularises = std::ranges::all_of(
      m.gaps, [](const BatchGaps& g) { return mean_of(g.batch_norm.gap) < mean_of(g.layer.gap); });
  const auto behind = [](const BatchGaps& g) {
    return mean_of(g.batch_norm.held_out) - mean_of(g.layer.held_out);
  };
  p.large_batches = behind(m.gaps.back()) < behind(m.gaps.front());
  return p;
}

std::string sentence_of(const NormalizationMeasures& m, const NormalizationOptions& o,
                        const Parts& p, Verdict verdict, const Setting& s) {
  std::string doubtful;
  const auto doubt = [&](bool holds, std::string_view en, std::string_view ko) {
    if (!holds) doubtful += (doubtful.empty() ? "" : s.say(" and ", ", ")) + s.say(en, ko);
  };
  doubt(p.faster, "faster training", "빠른 학습");
  doubt(p.calmer, "less drift of layer inputs", "층 입력 분포의 이동 감소");
  doubt(p.regularises, "a smaller gap with BatchNorm", "배치 정규화의 규제 효과");
  doubt(p.large_batches, "BatchNorm's liking of large batches", "배치 정규화의 큰 배치 선호");
  const std::string condition = verdict != Verdict::kHoldsWhen
                                    ? ""
                                    : s.say(concat("it leaves out ", doubtful, ": "),
                                            concat("다음은 확인되지 않았다(", doubtful, "). "));
  const auto updates = [&](NormTraining kind) {
    const double n = fewest_updates(m, kind, o.equal_loss);
    return std::isinf(n) ? s.say("never", "도달 못 함") : show(n, 3);
  };
  const auto number = [&](double v) {
    return std::isfinite(v) ? show(v, 3) : s.say("no finite number", "유한하지 않음");
  };
  const StackProfile &none = m.without.back(), &layer = m.layer.back();
  const auto drift_of = [&](NormTraining kind) {
    return number(mean_of(m.trainings()[kind].drift));
  };
  const SentenceStatistics& token = m.rows.per_token;
  const std::string gap_layer = number(mean_of(m.gaps[0].layer.gap)),
                    gap_batch = number(mean_of(m.gaps[0].batch_norm.gap));
  return s.say(
      concat(condition, "LayerNorm gives each token the variance ",
             show(token.token_variances.low, 6), " … ", show(token.token_variances.high, 6),
             "; other neighbours move a sentence's output by ",
             number(std::ranges::max(m.layer_ragged)), " with it and by ", number(m.batch_equal[1]),
             " (batch 2) to ", number(m.batch_equal.back()),
             " (64) with BatchNorm in training. Over ", o.layers, " layers of gain ",
             number(o.gain), " activations grow ", number(none.growth()),
             " times without a norm and ", number(layer.growth()),
             " times with it; gradients towards the input: ", number(none.gradient_ratio()),
             " and ", number(layer.gradient_ratio()), ". Loss ", show(o.equal_loss),
             " is reached at the best learning rate after these updates: no norm ",
             updates(kWithout), ", LayerNorm ", updates(kLayerNorm), ", BatchNorm ",
             updates(kBatchNorm), "; layer inputs drift by ", drift_of(kWithout), ", ",
             drift_of(kLayerNorm), ", ", drift_of(kBatchNorm),
             " meanwhile; that the one comes of the other is disputed (Santurkar et al., 2018). At "
             "batch 4 held-out minus training loss is ",
             gap_layer, " with LayerNorm and ", gap_batch, " with BatchNorm."),
      concat(condition, "층 정규화를 거친 토큰의 분산은 ", show(token.token_variances.low, 6), "~",
             show(token.token_variances.high, 6),
             "이다. 이웃 문장을 바꾸면 문장의 출력은 층 "
             "정규화에서 ",
             number(std::ranges::max(m.layer_ragged)), ", 학습 중의 배치 정규화에서 ",
             number(m.batch_equal[1]), "(배치 2)~", number(m.batch_equal.back()),
             "(배치 64)만큼 움직인다. 초기 배율 ", number(o.gain), "인 ", o.layers,
             "층에서 활성값은 정규화가 없으면 ", number(none.growth()), "배, 층 정규화가 있으면 ",
             number(layer.growth()), "배가 되고, 그래디언트는 각각 ", number(none.gradient_ratio()),
             "배와 ", number(layer.gradient_ratio()), "배가 된다. 손실 ", show(o.equal_loss),
             "에 가장 좋은 학습률로 도달한 갱신 횟수는 정규화 없음 ", updates(kWithout),
             ", 층 정규화 ", updates(kLayerNorm), ", 배치 정규화 ", updates(kBatchNorm),
             "이고, 그동안 층 입력 분포의 이동은 차례로 ", drift_of(kWithout), ", ",
             drift_of(kLayerNorm), ", ", drift_of(kBatchNorm),
             "이다. 둘이 인과 관계인지는 논쟁이 있다(Santurkar 외, 2018). 배치 4에서 검증 손실과 "
             "학습 손실의 차이는 층 정규화 ",
             gap_layer, ", 배치 정규화 ", gap_batch, "이다."));
}

}  // namespace

Result normalization(const NormalizationOptions& o, const Setting& setting) {
  o.training.validate();
  check(o.set_sentences % 64 == 0, "--set-sentences is ", o.set_sentences,
        ", expected a multiple of 64, the largest batch that reads them");
  const NormalizationMeasures m = measure(o, setting);
  const Parts p = decide(m, o);
  Result result;
  result.figure = figure_of(m, o, setting);
  result.tables = {statistics_table(m, setting), epsilon_table(m.epsilon, setting),
                   stacks_table(m, o, setting),  trainings_table(m, o, setting),
                   rates_table(m, o, setting),   neighbours_table(m, setting),
                   gaps_table(m, setting)};
  result.numbers = numbers_of(m, o);
  const bool core = p.statistics && p.independent && p.stable;
  const bool rest = p.faster && p.calmer && p.regularises && p.large_batches;
  result.verdict = !core ? Verdict::kFails : rest ? Verdict::kHolds : Verdict::kHoldsWhen;
  result.sentence = sentence_of(m, o, p, result.verdict, setting);
  return result;
}

}  // namespace rapt::insight

#include "rapt/insight/heads.h"

#include <algorithm>
#include <array>

#include "rapt/insight/result.h"

namespace rapt::insight {
namespace {

using Kind = AttentionMap::Kind;

constexpr double kDifferent = 0.2;  // of the weight lies elsewhere
constexpr double kClear = 0.5;      // of the weight lies at one place

struct Seen {
  std::vector<HeadLook> looks;
  std::vector<LayerDistance> distances;
  std::vector<LayerDistance> untrained;  // of the small model, else empty
  std::string source;                    // what was looked at, for the caption

  // Layer i has heads that differ, and has learnt that where it is known.
  bool different(size_t i) const {
    const double d = distances[i].distance;
    return d >= kDifferent && (untrained.empty() || d > untrained[i].distance);
  }
};

Seen look(const HeadsOptions& o, const Setting& s) {
  if (o.text.given()) {
    const std::vector<AttentionMaps> texts = attention_of(o.text, s.pool);
    return {looks_of(texts),
            distances_of(texts),
            {},
            concat(s.say("The model ", "모델 "), o.text.model, s.say(", texts: ", ", 글 수: "),
                   texts.size())};
  }
  TaskModel model(o.training.layer(), o.layers, true, o.training.symbols, s.seed);
  const TaskBatch probe = task_batch(o.training, s.seed, uint64_t{1} << 41, o.probe_sentences);
  const auto before = distances_of(attention_of(model, probe, s.pool));
  train(model, o.training, s.seed, s.pool);
  const std::vector<AttentionMaps> texts = attention_of(model, probe, s.pool);
  return {looks_of(texts), distances_of(texts), before,
          concat(describe(o.training, s), s.say("; layers: ", "; 층: "), o.layers,
                 s.say("; sentences looked at: ", "; 관찰한 문장: "), o.probe_sentences)};
}

std::string view_of(const HeadLook& look, const Setting& s) {
  const Place place = look.favourite();
  return look.weight[place] >= kClear ? name_of_place(place, s) : s.say("several keys", "여러 키");
}

Table heads_table(const Seen& seen, const Setting& s) {
  Table table{"heads",
              s.say("Where each head's weight lies, means over queries; the places overlap",
                    "헤드별 가중치의 위치(쿼리 평균). 위치끼리는 겹칠 수 있다"),
              {{"kind", s.say("attention", "어텐션")},
               {"head", s.say("head", "헤드")},
               {"looks_at", s.say("looks at", "보는 곳")},
               {"effective_keys", s.say("effective keys", "유효 키")}},
              {}};
  constexpr std::array kKeys = {"first", "previous", "same", "next", "last", "mirrored"};
  for (size_t i = 0; i < kPlaces; ++i) table.columns.push_back({kKeys[i], name_of_place(i, s)});
  for (const HeadLook& look : seen.looks) {
    std::vector<Cell> row = {name_of_kind(look.kind, s), name_of_head(look, s), view_of(look, s),
                             look.effective_keys};
    row.insert(row.end(), look.weight.begin(), look.weight.end());
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table distances_table(const Seen& seen, const Setting& s) {
  Table table{"layers",
              s.say("Weight that two heads of a layer place differently",
                    "같은 층의 두 헤드가 서로 다르게 두는 가중치"),
              {{"kind", s.say("attention", "어텐션")},
               {"layer", s.say("layer", "층")},
               {"distance", s.say("trained", "학습 후")}},
              {}};
  if (!seen.untrained.empty()) {
    table.columns.push_back({"untrained", s.say("before training", "학습 전")});
  }
  for (size_t i = 0; i < seen.distances.size(); ++i) {
    const LayerDistance& d = seen.distances[i];
    table.rows.push_back({name_of_kind(d.kind, s), d.layer + 1, d.distance});
    if (!seen.untrained.empty()) table.rows.back().emplace_back(seen.untrained[i].distance);
  }
  return table;
}

plot::Figure figure_of(const Seen& seen, const Setting& s) {
  plot::Figure figure{.title = s.say("What each head looks at", "각 헤드가 보는 곳"),
                      .caption = seen.source};
  for (const Kind kind : {Kind::kEncoder, Kind::kDecoder, Kind::kCross}) {
    plot::HeatMap map{.title = name_of_kind(kind, s),
                      .row_axis = s.say("head", "헤드"),
                      .column_axis = s.say("key, seen from the query", "쿼리에서 본 키"),
                      .value_label = s.say("weight", "가중치"),
                      .range = plot::Range{0, 1},
                      .numbers = true};
    for (size_t i = 0; i < kPlaces; ++i) map.columns.push_back(name_of_place(i, s));
    for (const HeadLook& look : seen.looks) {
      if (look.kind != kind) continue;
      map.rows.push_back(name_of_head(look, s));
      map.values.insert(map.values.end(), look.weight.begin(), look.weight.end());
    }
    if (!map.rows.empty()) figure.panels.emplace_back(std::move(map));
  }
  plot::Bars bars{
      .title = s.say("Weight that two heads of a layer place differently",
                     "같은 층의 두 헤드가 서로 다르게 두는 가중치"),
      .category_axis = s.say("layer", "층"),
      .series = {{s.say("trained", "학습 후"), {}, {}, {}}},
      .value = {.label = s.say("share of the weight", "가중치 비율"), .range = plot::Range{0, 1}}};
  if (!seen.untrained.empty()) {
    bars.series.push_back({s.say("before training", "학습 전"), {}, {}, {}});
  }
  for (size_t i = 0; i < seen.distances.size(); ++i) {
    const LayerDistance& d = seen.distances[i];
    bars.categories.push_back(concat(name_of_kind(d.kind, s), ' ', d.layer + 1));
    bars.series[0].values.push_back(d.distance);
    if (!seen.untrained.empty()) bars.series[1].values.push_back(seen.untrained[i].distance);
  }
  if (!bars.categories.empty()) figure.panels.emplace_back(std::move(bars));
  return figure;
}

}  // namespace

Result heads(const HeadsOptions& o, const Setting& setting) {
  o.text.validate();
  o.training.validate();
  check(o.training.length > 1, "--length is 1, expected at least 2: one position has no other");
  const Seen seen = look(o, setting);
  check(!seen.distances.empty(), "the model has one head in each layer, and nothing to compare");

  Result result;
  result.figure = figure_of(seen, setting);
  result.tables = {heads_table(seen, setting), distances_table(seen, setting)};
  const auto by_distance = [](const LayerDistance& d) { return d.distance; };
  const double least = by_distance(std::ranges::min(seen.distances, {}, by_distance));
  const double most = by_distance(std::ranges::max(seen.distances, {}, by_distance));
  size_t different = 0;
  for (size_t i = 0; i < seen.distances.size(); ++i) different += seen.different(i) ? 1 : 0;
  const auto clear = static_cast<size_t>(std::ranges::count_if(
      seen.looks, [](const HeadLook& l) { return l.weight[l.favourite()] >= kClear; }));
  result.numbers = {{"heads", static_cast<double>(seen.looks.size())},
                    {"layers_compared", static_cast<double>(seen.distances.size())},
                    {"layers_different", static_cast<double>(different)},
                    {"distance_least", least},
                    {"distance_most", most},
                    {"heads_of_one_place", static_cast<double>(clear)}};
  if (!seen.untrained.empty()) {
    result.numbers.emplace_back("untrained_distance_most",
                                by_distance(std::ranges::max(seen.untrained, {}, by_distance)));
  }
  const size_t layers = seen.distances.size();
  result.verdict = different == layers ? Verdict::kHolds
                   : different == 0    ? Verdict::kFails
                                       : Verdict::kHoldsWhen;
  const std::string facts_en =
      concat("two heads of a layer place ", show(100 * least, 3), " to ", show(100 * most, 3),
             " % of their weight differently; ", clear, " of ", seen.looks.size(),
             " heads give most of their weight to one place of those listed.");
  const std::string facts_ko =
      concat("같은 층의 두 헤드는 가중치의 ", show(100 * least, 3), "~", show(100 * most, 3),
             "%를 서로 다른 곳에 둔다. 헤드 ", seen.looks.size(), "개 중 ", clear,
             "개는 가중치의 절반 이상을 표의 한 위치에 둔다.");
  const bool partly = result.verdict == Verdict::kHoldsWhen;
  result.sentence = setting.say(
      partly ? concat("it is said of ", different, " of ", layers, " layers: ", facts_en)
             : facts_en,
      partly ? concat(layers, "개 층 중 ", different, "개에서만 그렇다. ", facts_ko) : facts_ko);
  return result;
}

}  // namespace rapt::insight

#include "rapt/insight/sink.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "rapt/insight/result.h"

namespace rapt::insight {
namespace {

constexpr double kFar = 2;  // times its share

// Means over the heads of a layer of self-attention.
struct Layer {
  AttentionMap::Kind kind;
  size_t layer;
  double first = 0, even_share = 0, sink = 0;
  bool gathers() const { return first > kFar * even_share; }
};

struct Gathering {
  std::vector<Layer> layers;
  double loss = NAN;  // of new sentences, where the model was trained here

  double mean(double Layer::*field) const {
    double sum = 0;
    for (const Layer& l : layers) sum += l.*field;
    return sum / static_cast<double>(layers.size());
  }
  const Layer& most() const { return *std::ranges::max_element(layers, {}, &Layer::first); }
  size_t gathering() const {
    return static_cast<size_t>(std::ranges::count_if(layers, &Layer::gathers));
  }
};

Gathering gathering_of(const std::vector<AttentionMaps>& texts) {
  Gathering g;
  std::vector<double> heads;
  for (const HeadLook& look : looks_of(texts)) {
    if (look.kind == AttentionMap::Kind::kCross) continue;
    if (g.layers.empty() || g.layers.back().kind != look.kind ||
        g.layers.back().layer != look.layer) {
      g.layers.push_back({look.kind, look.layer});
      heads.push_back(0);
    }
    Layer& l = g.layers.back();
    l.first += look.first_of_several;
    l.even_share += look.even_share;
    l.sink += look.sink;
    ++heads.back();
  }
  for (size_t i = 0; i < heads.size(); ++i) {
    Layer& l = g.layers[i];
    for (double* sum : {&l.first, &l.even_share, &l.sink}) *sum /= heads[i];
  }
  return g;
}

// One for the user's model; a small one without the logit and one with it.
struct Seen {
  std::vector<Gathering> models;
  std::vector<bool> sinks;
  std::string source;  // what was looked at, for the caption
};

Seen look(const SinkOptions& o, const Setting& s) {
  if (o.text.given()) {
    const std::vector<AttentionMaps> texts = attention_of(o.text, s.pool);
    return {{gathering_of(texts)},
            {texts.front().sink},
            concat(s.say("The model ", "모델 "), o.text.model, s.say(", texts: ", ", 글 수: "),
                   texts.size())};
  }
  Seen seen{
      std::vector<Gathering>(2),
      {false, true},
      concat(describe(o.training, s), s.say("; causal, pre-LN, layers: ", "; 인과적, pre-LN, 층: "),
             o.layers, s.say("; sentences looked at: ", "; 관찰한 문장: "), o.probe_sentences)};
  s.pool.run(2, [&](size_t i) {
    nn::LayerOptions layer = o.training.layer();
    layer.residual = Residual::kPre;
    layer.attention_sink = i == 1;
    TaskModel model(layer, o.layers, true, o.training.symbols, s.seed, true);
    train(model, o.training, s.seed, s.pool);
    const TaskBatch probe = task_batch(o.training, s.seed, uint64_t{1} << 41, o.probe_sentences);
    seen.models[i] = gathering_of(attention_of(model, probe, s.pool));
    seen.models[i].loss = held_out_loss(model, o.training, s.seed, o.probe_sentences, s.pool);
  });
  return seen;
}

std::string name_of_model(bool sink, const Setting& s) {
  return sink ? s.say("with sink logit", "싱크 로짓 있음")
              : s.say("without sink logit", "싱크 로짓 없음");
}

std::string name_of(const Layer& l, const Setting& s) {
  return concat(name_of_kind(l.kind, s), ' ', l.layer + 1);
}

Table table_of(const Seen& seen, const Setting& s) {
  Table table{"layers",
              s.say("Weight of the first token, means over heads and over queries that see several "
                    "tokens",
                    "첫 토큰의 가중치(헤드와, 토큰을 둘 이상 보는 쿼리의 평균)"),
              {{"model", s.say("model", "모델")},
               {"layer", s.say("layer", "층")},
               {"first", s.say("first token", "첫 토큰")},
               {"even_share", s.say("even share", "균등한 몫")},
               {"sink", s.say("sink logit", "싱크 로짓")}},
              {}};
  for (size_t i = 0; i < seen.models.size(); ++i) {
    for (const Layer& l : seen.models[i].layers) {
      table.rows.push_back(
          {name_of_model(seen.sinks[i], s), name_of(l, s), l.first, l.even_share, l.sink});
    }
  }
  return table;
}

plot::Figure figure_of(const Seen& seen, const Setting& s) {
  plot::Figure figure{
      .title = s.say("What the first token and the sink take", "첫 토큰과 싱크가 가져가는 가중치"),
      .caption = seen.source,
      .columns = seen.models.size()};
  for (size_t i = 0; i < seen.models.size(); ++i) {
    plot::Bars bars{.title = name_of_model(seen.sinks[i], s),
                    .category_axis = s.say("layer", "층"),
                    .series = {{s.say("first token", "첫 토큰"), {}, {}, {}},
                               {s.say("its even share", "균등한 몫"), {}, {}, {}}},
                    .value = {.label = s.say("weight", "가중치"), .range = plot::Range{0, 1}}};
    if (seen.sinks[i]) bars.series.push_back({s.say("sink logit", "싱크 로짓"), {}, {}, {}});
    for (const Layer& l : seen.models[i].layers) {
      bars.categories.push_back(name_of(l, s));
      bars.series[0].values.push_back(l.first);
      bars.series[1].values.push_back(l.even_share);
      if (seen.sinks[i]) bars.series[2].values.push_back(l.sink);
    }
    figure.panels.emplace_back(std::move(bars));
  }
  return figure;
}

// What one model shows.
std::string facts_of(const Gathering& g, bool sink, const Setting& s) {
  const Layer& most = g.most();
  return s.say(
      concat(name_of_model(sink, s), " the first token takes ", show(100 * most.first, 3),
             " % of the weight in ", name_of(most, s), ", where its even share is ",
             show(100 * most.even_share, 3), " %, and more than twice its share in ", g.gathering(),
             " of ", g.layers.size(), " layers",
             sink ? concat("; the logit takes ", show(100 * g.mean(&Layer::sink), 3), " %") : ""),
      concat(name_of_model(sink, s), ": ", name_of(most, s), "층에서 첫 토큰이 가중치의 ",
             show(100 * most.first, 3), "%를 가져가며(균등한 몫 ", show(100 * most.even_share, 3),
             "%), 층 ", g.layers.size(), "개 중 ", g.gathering(), "개에서 제 몫의 두 배를 넘는다",
             sink ? concat(". 싱크 로짓은 ", show(100 * g.mean(&Layer::sink), 3), "%를 가져간다")
                  : ""));
}

// A sink takes over when the first token has less than twice its share, and the logit more than a
// token's.
bool takes_over(const Gathering& g) {
  return g.gathering() == 0 && g.mean(&Layer::sink) > g.mean(&Layer::even_share);
}

Verdict verdict_of(const Seen& seen) {
  if (seen.sinks.front()) {
    // That the first token gathers without it, such a model cannot show.
    return takes_over(seen.models.front()) ? Verdict::kHoldsWhen : Verdict::kFails;
  }
  const Gathering& without = seen.models.front();
  if (without.gathering() == 0) return Verdict::kFails;
  const bool everywhere = without.gathering() == without.layers.size();
  return everywhere && (seen.models.size() == 1 || takes_over(seen.models[1]))
             ? Verdict::kHolds
             : Verdict::kHoldsWhen;
}

}  // namespace

Result sink(const SinkOptions& o, const Setting& setting) {
  o.text.validate();
  o.training.validate();
  check(o.training.length > 1, "--length is 1, expected at least 2: one position has no other");
  const Seen seen = look(o, setting);
  Result result;
  result.figure = figure_of(seen, setting);
  result.tables = {table_of(seen, setting)};
  std::string facts;
  for (const bool sink : {false, true}) {
    const auto found = std::ranges::find(seen.sinks, sink);
    const bool measured = found != seen.sinks.end();
    Gathering none;
    none.layers.resize(1);
    const Gathering& g =
        measured ? seen.models[static_cast<size_t>(found - seen.sinks.begin())] : none;
    const auto number = [&](double v) { return measured ? v : NAN; };
    const std::string model = sink ? "_with" : "_without";
    result.numbers.insert(result.numbers.end(),
                          {{"first" + model, number(g.mean(&Layer::first))},
                           {"first_most" + model, number(g.most().first)},
                           {"even_share" + model, number(g.mean(&Layer::even_share))},
                           {"layers_gathering" + model, number(static_cast<double>(g.gathering()))},
                           {"sink" + model, number(g.mean(&Layer::sink))},
                           {"loss" + model, number(g.loss)}});
    if (measured)
      facts += concat(facts.empty() ? "" : setting.say("; ", ". "), facts_of(g, sink, setting));
  }
  result.verdict = verdict_of(seen);
  const bool partly = result.verdict == Verdict::kHoldsWhen;
  const Gathering& first = seen.models.front();
  const bool half = partly && seen.sinks.front();
  result.sentence = half ? setting.say(concat("it is said of the logit alone: ", facts, "."),
                                       concat("로짓에 대해서만 그렇다. ", facts, "."))
                    : partly
                        ? setting.say(concat("it is said of ", first.gathering(), " of ",
                                             first.layers.size(), " layers: ", facts, "."),
                                      concat("층 ", first.layers.size(), "개 중 ",
                                             first.gathering(), "개에서만 그렇다. ", facts, "."))
                        : facts + ".";
  return result;
}

}  // namespace rapt::insight

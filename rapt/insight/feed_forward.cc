#include "rapt/insight/feed_forward.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "rapt/insight/linearity.h"
#include "rapt/insight/position_wise.h"
#include "rapt/insight/result.h"
#include "rapt/insight/statistics.h"

namespace rapt::insight {
namespace {

using kernels::Activation;

constexpr std::array kRatios = {0.5, 1.0, 2.0, 4.0, 8.0};  // d_ff / d_model
constexpr size_t kHeldOut = 256;                           // sentences

struct Kind {
  Activation activation;
  size_t d_ff;
};

// All trainings of one kind, which differ in the models' first values.
struct Trained {
  std::vector<double> curve;     // mean loss of each update
  std::vector<double> held_out;  // nats a position, of each training
  size_t parameters = 0;

  double mean() const { return mean_of(held_out); }
  double least() const { return std::ranges::min(held_out); }
  double most() const { return std::ranges::max(held_out); }
};

std::vector<Trained> train_kinds(std::span<const Kind> kinds, const FeedForwardOptions& o,
                                 const Setting& setting) {
  struct Run {
    Curve curve;
    double held_out;
    size_t parameters;
  };
  std::vector<Run> runs(kinds.size() * o.repeats);
  setting.pool.run(runs.size(), [&](size_t i) {
    nn::LayerOptions layer = o.training.layer();
    layer.activation = kinds[i / o.repeats].activation;
    layer.d_ff = kinds[i / o.repeats].d_ff;
    TaskModel model(layer, o.trained_layers, true, o.training.symbols,
                    setting.seed + i % o.repeats);
    runs[i].curve = train(model, o.training, setting.seed, setting.pool);
    runs[i].held_out = held_out_loss(model, o.training, setting.seed, kHeldOut, setting.pool);
    runs[i].parameters = model.parameters().elements();
  });
  std::vector<Trained> all(kinds.size());
  for (size_t i = 0; i < runs.size(); ++i) {
    Trained& trained = all[i / o.repeats];
    trained.parameters = runs[i].parameters;
    trained.held_out.push_back(runs[i].held_out);
    trained.curve.resize(o.training.steps, 0.0);
    for (size_t step = 0; step < o.training.steps; ++step) {
      const double loss = step < runs[i].curve.loss.size() ? runs[i].curve.loss[step] : NAN;
      trained.curve[step] += loss / static_cast<double>(o.repeats);
    }
  }
  return all;
}

// What was measured, in one place for tables, figure and sentence.
struct Measures {
  Linearity linear;
  PositionWise positions;
  Trained relu, none;           // with the non-linearity and without
  std::vector<Trained> widths;  // one of kRatios each

  // Curvature at scale 1.
  double at_one(const std::vector<double>& curvature) const {
    const auto one = std::ranges::find(linear.scales, 1.0);
    return curvature[static_cast<size_t>(one - linear.scales.begin())];
  }
};

Measures measure(const FeedForwardOptions& o, const Setting& setting) {
  const nn::LayerOptions sizes = {
      .d_model = o.layer_d_model, .heads = o.layer_heads, .d_ff = o.layer_d_ff};
  const size_t d_model = o.training.d_model;
  std::vector<Kind> kinds = {{Activation::kRelu, o.training.d_ff},
                             {Activation::kNone, o.training.d_ff}};
  for (const double ratio : kRatios) {
    kinds.push_back(
        {Activation::kRelu,
         std::max<size_t>(1, static_cast<size_t>(ratio * static_cast<double>(d_model)))});
  }
  std::vector<Trained> trained = train_kinds(kinds, o, setting);
  return {measure_linearity(sizes, o.positions, o.layers, setting.seed, setting.pool),
          measure_positions(sizes, o.positions, setting.seed, setting.pool),
          std::move(trained[0]),
          std::move(trained[1]),
          {std::make_move_iterator(trained.begin() + 2), std::make_move_iterator(trained.end())}};
}

Table linearity_table(const Measures& m, const Setting& s) {
  Table table{"linearity",
              s.say("Distance from a linear map, by the scale of the input",
                    "입력 크기에 따른, 선형 변환과의 거리"),
              {{"scale", s.say("scale", "크기")},
               {"linear_ffn", s.say("FFN, no activation", "활성 함수 없는 FFN")},
               {"held_attention", s.say("attention, weights held", "가중치를 고정한 어텐션")},
               {"attention", s.say("attention", "어텐션")},
               {"relu_ffn", s.say("FFN, ReLU", "ReLU FFN")}},
              {}};
  const Linearity& l = m.linear;
  for (size_t i = 0; i < l.scales.size(); ++i) {
    table.rows.push_back(
        {l.scales[i], l.linear_ffn[i], l.held_attention[i], l.attention[i], l.relu_ffn[i]});
  }
  return table;
}

Table stacks_table(const Measures& m, const FeedForwardOptions& o, const Setting& s) {
  return {"stacks",
          concat(o.layers, s.say(" layers, input of scale 1: distance from a linear map",
                                 "층, 크기 1인 입력: 선형 변환과의 거리")),
          {{"stack", s.say("stack", "스택")}, {"curvature", s.say("distance", "거리")}},
          {{s.say("attention weights held, FFN without activation",
                  "어텐션 가중치 고정, 활성 함수 없는 FFN"),
            m.linear.held_stack},
           {s.say("attention, FFN without activation", "어텐션, 활성 함수 없는 FFN"),
            m.linear.linear_stack},
           {s.say("attention, FFN with ReLU", "어텐션, ReLU FFN"), m.linear.relu_stack}}};
}

Table positions_table(const Measures& m, const FeedForwardOptions& o, const Setting& s) {
  const PositionWise& p = m.positions;
  return {
      "positions",
      concat(s.say("Positions: a sentence of ", "위치: 길이 "), o.positions, s.say("", "인 문장")),
      {{"measure", s.say("measure", "측정")},
       {"ffn", "FFN"},
       {"attention", s.say("attention", "어텐션")}},
      {{s.say("permuted input, output permuted back: relative difference",
              "입력을 치환하고 출력을 되돌린 상대 차이"),
        p.ffn_permuted_differences == 0 ? 0.0 : NAN, p.attention_permuted},
       {s.say("rows that change with one token", "토큰 하나를 바꿀 때 바뀌는 행"),
        p.ffn_rows_changed, p.attention_rows_changed},
       {s.say("relative difference from two 1×1 convolutions", "1×1 합성곱 두 번과의 상대 차이"),
        p.convolution, "–"},
       {s.say("one word in two sentences: its rows apart, before attention and after",
              "두 문장 속 같은 단어: 어텐션 전과 후의 행 사이 거리"),
        p.word_before, p.word_after}}};
}

Table trainings_table(const Measures& m, const FeedForwardOptions& o, const Setting& s) {
  Table table{"trainings",
              s.say("Held-out loss after training, nats a position",
                    "학습 뒤 보지 않은 문장의 손실(위치당 nat)"),
              {{"ffn", "FFN"},
               {"parameters", s.say("parameters", "매개변수")},
               {"loss", s.say("mean", "평균")},
               {"least", s.say("least", "최소")},
               {"most", s.say("most", "최대")}},
              {}};
  const auto add = [&](std::string name, const Trained& t) {
    table.rows.push_back({std::move(name), t.parameters, t.mean(), t.least(), t.most()});
  };
  const std::string d_ff = concat(", d_ff ", o.training.d_ff);
  add("ReLU" + d_ff, m.relu);
  add(s.say("no activation", "활성 함수 없음") + d_ff, m.none);
  for (size_t i = 0; i < m.widths.size(); ++i) {
    add(concat("ReLU, d_ff / d_model ", show(kRatios[i])), m.widths[i]);
  }
  return table;
}

plot::Figure figure_of(const Measures& m, const FeedForwardOptions& o, const Setting& s) {
  const Linearity& l = m.linear;
  const plot::LineChart curvature{
      .title = s.say("Distance from a linear map", "선형 변환과의 거리"),
      .series = {{s.say("FFN, ReLU", "ReLU FFN"), l.scales, l.relu_ffn},
                 {s.say("attention", "어텐션"), l.scales, l.attention},
                 {s.say("attention, weights held", "가중치를 고정한 어텐션"), l.scales,
                  l.held_attention},
                 {s.say("FFN, no activation", "활성 함수 없는 FFN"), l.scales, l.linear_ffn}},
      .x = {s.say("scale of the input", "입력의 크기"), "", true},
      .y = {s.say("relative distance", "상대 거리"), "", true}};
  const plot::Bars rows{.title = s.say("One token is changed", "토큰 하나를 바꿀 때"),
                        .category_axis = s.say("sub-layer", "하위 층"),
                        .categories = {"FFN", s.say("attention", "어텐션")},
                        .series = {{"",
                                    {static_cast<double>(m.positions.ffn_rows_changed),
                                     static_cast<double>(m.positions.attention_rows_changed)},
                                    {},
                                    {}}},
                        .value = {s.say("rows of the output that change", "바뀌는 출력 행"), "",
                                  false, plot::Range{0, static_cast<double>(o.positions)}}};
  const SmoothCurve relu = smooth(m.relu.curve), none = smooth(m.none.curve);
  const plot::LineChart curves{
      .title =
          s.say("Training with and without the non-linearity", "비선형성이 있는 학습과 없는 학습"),
      .series = {{s.say("FFN, ReLU", "ReLU FFN"), relu.step, relu.loss},
                 {s.say("FFN, no activation", "활성 함수 없는 FFN"), none.step, none.loss}},
      .x = {.label = s.say("update", "갱신 횟수")},
      .y = {s.say("loss", "손실"), s.say("nats a position", "위치당 nat")}};
  plot::Bars widths{.title = s.say("Width of the network", "네트워크의 폭"),
                    .category_axis = "d_ff / d_model",
                    .series = {{"", {}, {}, {}}},
                    .value = {s.say("held-out loss", "보지 않은 문장의 손실"),
                              s.say("nats a position", "위치당 nat")}};
  for (size_t i = 0; i < m.widths.size(); ++i) {
    widths.categories.push_back(show(kRatios[i]));
    widths.series[0].values.push_back(m.widths[i].mean());
    widths.series[0].low.push_back(m.widths[i].least());
    widths.series[0].high.push_back(m.widths[i].most());
  }
  return {.title = s.say("What the feed-forward network is for", "피드포워드 네트워크의 역할"),
          .caption = concat(
              s.say("Untrained layers: d_model ", "학습하지 않은 층: d_model "), o.layer_d_model,
              ", d_ff ", o.layer_d_ff, ", ", o.positions, s.say(" positions. ", "개 위치. "),
              describe(o.training, s), s.say("; mean of ", "; 학습 "), o.repeats,
              s.say(" trainings of ", "회의 평균, "), o.trained_layers, s.say(" layers", "층")),
          .panels = {curvature, rows, curves, widths},
          .columns = 2};
}

}  // namespace

Result feed_forward(const FeedForwardOptions& o, const Setting& setting) {
  o.training.validate();
  check(o.layer_d_model % o.layer_heads == 0, "--layer-d-model is ", o.layer_d_model,
        ", which --layer-heads ", o.layer_heads, " do not divide; choose sizes that fit");
  const Measures m = measure(o, setting);
  const Linearity& l = m.linear;
  const PositionWise& p = m.positions;

  Result result;
  result.figure = figure_of(m, o, setting);
  result.tables = {linearity_table(m, setting), stacks_table(m, o, setting),
                   positions_table(m, o, setting), trainings_table(m, o, setting)};
  result.numbers = {{"linear_ffn", m.at_one(l.linear_ffn)},
                    {"one_matrix", l.one_matrix},
                    {"held_attention", m.at_one(l.held_attention)},
                    {"attention", m.at_one(l.attention)},
                    {"relu_ffn", m.at_one(l.relu_ffn)},
                    {"held_stack", l.held_stack},
                    {"linear_stack", l.linear_stack},
                    {"relu_stack", l.relu_stack},
                    {"ffn_permuted_differences", p.ffn_permuted_differences},
                    {"attention_permuted", p.attention_permuted},
                    {"ffn_rows_changed", p.ffn_rows_changed},
                    {"attention_rows_changed", p.attention_rows_changed},
                    {"convolution", p.convolution},
                    {"word_before", p.word_before},
                    {"word_after", p.word_after},
                    {"word_ffn", p.word_ffn},
                    {"loss_relu", m.relu.mean()},
                    {"loss_none", m.none.mean()}};
  for (size_t i = 0; i < m.widths.size(); ++i) {
    result.numbers.emplace_back("loss_width_" + show(kRatios[i]), m.widths[i].mean());
  }
  constexpr double kRounding = 1e-5;
  const bool alone = p.ffn_permuted_differences == 0 && p.ffn_rows_changed == 1 &&
                     p.convolution < kRounding && p.word_before == 0;
  const bool linear_when_held = l.held_stack < kRounding && l.one_matrix < kRounding;
  result.verdict = !alone || !linear_when_held       ? Verdict::kFails
                   : l.linear_stack > 10 * kRounding ? Verdict::kHoldsWhen
                                                     : Verdict::kHolds;
  const std::string held = show(l.held_stack, 2), whole = show(l.linear_stack, 2);
  const std::string relu = show(m.relu.mean(), 3), none = show(m.none.mean(), 3);
  result.sentence = setting.say(
      concat("the attention weights are held: then ", o.layers,
             " layers without activation are a linear map up to rounding (", held,
             "), but attention computes its weights from what it reads, and the whole stack is ",
             whole,
             " from linear. The feed-forward network acts on each position alone to the "
             "last bit (",
             p.ffn_rows_changed, " of ", o.positions,
             " rows change with one token; with attention ", p.attention_rows_changed,
             "). Trained, the loss ends at ", relu, " with ReLU and at ", none, " without."),
      concat(
          "어텐션 가중치를 고정할 때이다. 그때는 활성 함수 없는 ", o.layers, "층이 반올림 오차(",
          held,
          ") 안에서 선형 변환이다. 그러나 어텐션은 읽은 내용으로 가중치를 계산하므로 전체 스택은 "
          "선형에서 ",
          whole,
          "만큼 벗어난다. 피드포워드 네트워크는 비트 하나까지 위치마다 따로 "
          "작용한다(토큰 하나를 바꾸면 ",
          o.positions, "행 중 ", p.ffn_rows_changed, "행이 바뀌고, 어텐션에서는 ",
          p.attention_rows_changed, "행이 바뀐다). 학습한 뒤의 손실은 ReLU가 있으면 ", relu,
          ", 없으면 ", none, "이다."));
  return result;
}

}  // namespace rapt::insight

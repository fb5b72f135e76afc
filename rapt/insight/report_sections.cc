#include <algorithm>
#include <cmath>

#include "rapt/insight/report.h"
#include "rapt/insight/result.h"

namespace rapt::insight {
namespace {

using Kind = AttentionMap::Kind;

// Beyond these a section calls for action. They are rules of thumb, not laws: at a score variance of
// 30 a query of 10 keys puts over 0.99 on one of them in a fifth of the draws
// (`rapt insight saturation --d-k 30`).
constexpr double kMostVariance = 30, kMostSaturated = 0.9, kMostFirst = 0.5;
constexpr double kLeastLoad = 0.1;  // of an even share
constexpr double kMostGradientRatio = 100, kMostSpike = 50;

struct Spread {
  double low = INFINITY, high = -INFINITY;
  void add(double v) {
    if (std::isnan(v)) return;
    low = std::min(low, v);
    high = std::max(high, v);
  }
};

class Writer {
 public:
  Writer(const ModelView& view, Language language) : view_(view), language_(language) {}

  std::string say(std::string_view english, std::string_view korean) const {
    return std::string(language_ == Language::kEnglish ? english : korean);
  }

  // A heat map of layers and heads for each kind of attention, times `factor`.
  plot::Figure heads(double HeadView::*what, const std::string& label, double factor,
                     std::optional<plot::Range> range) const {
    plot::Figure figure;
    for (const Kind kind : {Kind::kEncoder, Kind::kDecoder, Kind::kCross}) {
      plot::HeatMap map{.title = title_of(kind),
                        .row_axis = say("layer", "층"),
                        .column_axis = say("head", "헤드"),
                        .value_label = label,
                        .range = range};
      for (const AttentionView& attention : view_.attention) {
        if (attention.kind != kind) continue;
        map.rows.push_back(std::to_string(attention.layer + 1));
        map.columns.clear();
        for (size_t h = 0; h < attention.heads.size(); ++h) {
          map.columns.push_back(std::to_string(h + 1));
          map.values.push_back(factor * attention.heads[h].*what);
        }
      }
      if (!map.rows.empty()) figure.panels.push_back(std::move(map));
    }
    figure.columns = std::max<size_t>(1, figure.panels.size());
    return figure;
  }

  struct Line {
    std::string name;
    double SubLayerSummary::*what;
  };
  // Over the sub-layers of the encoder, and of the decoder.
  plot::Figure sub_layers(const std::vector<Line>& lines, const plot::Axis& y) const {
    plot::Figure figure;
    Spread all;
    for (const bool encoder : {true, false}) {
      plot::LineChart chart{.title = encoder ? say("encoder", "인코더") : say("decoder", "디코더"),
                            .x = {.label = say("sub-layer, from the input", "입력부터 센 하위 층")},
                            .y = y};
      for (const Line& line : lines) {
        plot::LineSeries series{line.name, {}, {}};
        for (const SubLayerSummary& s : view_.sub_layers) {
          if (s.in_encoder() != encoder) continue;
          series.x.push_back(static_cast<double>(series.x.size() + 1));
          series.y.push_back(s.*line.what);
          if (s.*line.what > 0) all.add(s.*line.what);
        }
        if (!series.x.empty()) chart.series.push_back(std::move(series));
      }
      if (!chart.series.empty()) figure.panels.push_back(std::move(chart));
    }
    if (all.low < all.high) {  // panels that are compared have one scale
      for (plot::Panel& panel : figure.panels) {
        std::get<plot::LineChart>(panel).y.range = plot::Range{all.low, all.high};
      }
    }
    figure.columns = figure.panels.size();
    return figure;
  }

  bool measured(double HeadView::*what) const { return std::isfinite(over_heads(what).high); }
  Spread over_heads(double HeadView::*what) const {
    Spread spread;
    for (const AttentionView& attention : view_.attention) {
      for (const HeadView& head : attention.heads) spread.add(head.*what);
    }
    return spread;
  }
  Spread over_sub_layers(double SubLayerSummary::*what) const {
    Spread spread;
    for (const SubLayerSummary& s : view_.sub_layers) spread.add(s.*what);
    return spread;
  }
  // "encoder, layer 2, head 3"
  std::string where_most(double HeadView::*what) const {
    const double most = over_heads(what).high;
    for (const AttentionView& attention : view_.attention) {
      for (size_t h = 0; h < attention.heads.size(); ++h) {
        if (attention.heads[h].*what == most) {
          return concat(title_of(attention.kind), say(", layer ", ", 층 "), attention.layer + 1,
                        say(", head ", ", 헤드 "), h + 1);
        }
      }
    }
    return {};
  }

  ReportSection variance() const {
    const Spread v = over_heads(&HeadView::variance);
    return {
        "variance",
        say("Variance of the scores", "점수의 분산"),
        say("Independent queries and keys give 1 after the division by √d_k. Training raises it "
            "to some 10 where a head has become sharp.",
            "쿼리와 키가 독립이면 √d_k로 나눈 뒤 1이다. 학습으로 헤드가 뾰족해지면 10 "
            "남짓까지 커진다."),
        concat(say("Here from ", "여기서는 "), show(v.low, 3), say(" to ", "에서 "),
               show(v.high, 3), say(", the most in ", "까지이며 가장 큰 곳은 "),
               where_most(&HeadView::variance), say(". ", "이다. "),
               v.high > kMostVariance
                   ? say("Such scores saturate the softmax: a lower learning rate, `--score "
                         "cosine` or weight decay keeps them small.",
                         "이런 점수는 소프트맥스를 포화시킨다. 학습률을 낮추거나 `--score "
                         "cosine`, 가중치 감쇠를 쓰면 작게 유지된다.")
                   : say("Nothing to do.", "조치할 것은 없다.")),
        v.high > kMostVariance,
        heads(&HeadView::variance, say("variance", "분산"), 1, std::nullopt)};
  }

  ReportSection entropy() const {
    const Spread v = over_heads(&HeadView::effective);
    return {
        "effective",
        say("Keys that a query looks at", "쿼리가 실제로 보는 키"),
        say("exp(entropy) as a share of the keys that the query may see: 100 % is even "
            "attention, a few percent is one key. Both are normal; a model all of whose heads "
            "are even has not learnt to look.",
            "볼 수 있는 키 가운데 exp(엔트로피)의 비율: 100%는 고른 어텐션, 몇 %는 키 하나이다. "
            "둘 다 정상이지만 모든 헤드가 고르다면 보는 법을 배우지 못한 것이다."),
        concat(say("Here from ", "여기서는 "), show(100 * v.low, 3), say(" to ", "%에서 "),
               show(100 * v.high, 3), say(" %. ", "%까지이다. "),
               v.low > 0.95 ? say("No head has learnt to choose: train longer, or check the data.",
                                  "고르는 법을 배운 헤드가 없다. 더 오래 학습하거나 데이터를 "
                                  "확인하라.")
                            : say("Nothing to do.", "조치할 것은 없다.")),
        v.low > 0.95,
        heads(&HeadView::effective, say("exp(entropy) / keys, %", "exp(엔트로피) / 키, %"), 100,
              plot::Range{0, 100})};
  }

  ReportSection saturated() const {
    const Spread v = over_heads(&HeadView::saturated);
    return {
        "saturated",
        say("Saturated queries", "포화된 쿼리"),
        say("The share of queries that put over 0.99 on one key. Through such a query hardly any "
            "gradient reaches the scores. Heads that copy one position, as the previous one, are "
            "mostly saturated and do their work; a model all of whose heads are can no longer "
            "learn where to look.",
            "가중치의 0.99 이상을 키 하나에 두는 쿼리의 비율. 그런 쿼리로는 점수에 그래디언트가 "
            "거의 닿지 않는다. 바로 앞 위치를 베끼는 헤드처럼 포화된 채 제 일을 하는 헤드도 "
            "있지만, 모든 헤드가 포화되면 볼 곳을 더는 배우지 못한다."),
        concat(say("Here up to ", "여기서는 최대 "), show(100 * v.high, 3),
               say(" %, in ", "%이며, 그곳은 "), where_most(&HeadView::saturated),
               say(". ", "이다. "),
               v.low > kMostSaturated
                   ? say("Every head is saturated: lower the learning rate or warm up longer.",
                         "모든 헤드가 포화되었다. 학습률을 낮추거나 워밍업을 늘려라.")
                   : say("Nothing to do.", "조치할 것은 없다.")),
        v.low > kMostSaturated,
        heads(&HeadView::saturated, say("queries, %", "쿼리, %"), 100, plot::Range{0, 100})};
  }

  ReportSection unscaled() const {
    const Spread v = over_heads(&HeadView::unscaled), now = over_heads(&HeadView::saturated);
    return {
        "unscaled",
        say("The same without the division by √d_k", "√d_k로 나누지 않았다면"),
        say("These weights, had the same scores not been divided: what the scaling prevents. (A "
            "model trained so would have found smaller scores, if it could.)",
            "같은 점수를 나누지 않았다면 되었을 가중치: 스케일링이 막는 것이다. (그렇게 학습한 "
            "모델이라면 될 수 있는 한 더 작은 점수를 찾았을 것이다.)"),
        concat(say("From ", "포화된 쿼리의 최댓값이 "), show(100 * now.high, 3),
               say(" % of saturated queries at most to ", "%에서 "), show(100 * v.high, 3),
               say(" %.", "%로 는다.")),
        false,
        heads(&HeadView::unscaled, say("queries, %", "쿼리, %"), 100, plot::Range{0, 100})};
  }

  ReportSection first() const {
    const Spread v = over_heads(&HeadView::first);
    Spread even = over_heads(&HeadView::even);
    return {
        "first",
        say("Weight on the first key", "첫 번째 키의 가중치"),
        concat(say("Queries that see at least ", "키를 "), kFirstKeys,
               say(" keys. Heads that have nothing to look for park their weight on the first "
                   "token: an attention sink. Even attention would put ",
                   "개 이상 보는 쿼리에서 잰다. 찾을 것이 없는 헤드는 가중치를 첫 토큰에 "
                   "놓아 둔다(어텐션 싱크). 고른 어텐션이라면 "),
               show(100 * even.low, 2), say(" to ", "%에서 "), show(100 * even.high, 2),
               say(" % there.", "%이다.")),
        concat(say("Here up to ", "여기서는 최대 "), show(100 * v.high, 3),
               say(" %, in ", "%이며, 그곳은 "), where_most(&HeadView::first), say(". ", "이다. "),
               v.high > kMostFirst
                   ? say("A learned sink (`--attention-sink`) would free that token.",
                         "학습되는 싱크(`--attention-sink`)를 쓰면 그 토큰이 자유로워진다.")
                   : say("Nothing to do.", "조치할 것은 없다.")),
        v.high > kMostFirst,
        heads(&HeadView::first, say("weight, %", "가중치, %"), 100, plot::Range{0, 100})};
  }

  ReportSection sink() const {
    const Spread v = over_heads(&HeadView::sink);
    return {"sink",
            say("Weight on the learned sink", "학습된 싱크의 가중치"),
            say("What a head does not give to any key.", "어느 키에도 주지 않은 가중치이다."),
            concat(say("Here from ", "여기서는 "), show(100 * v.low, 3), say(" to ", "%에서 "),
                   show(100 * v.high, 3), say(" %.", "%까지이다.")),
            false,
            heads(&HeadView::sink, say("weight, %", "가중치, %"), 100, plot::Range{0, 100})};
  }

  ReportSection gradient() const {
    const Spread v = over_sub_layers(&SubLayerSummary::gradient);
    const double ratio = v.high / v.low;
    const bool bad = !(ratio < kMostGradientRatio);
    return {
        "gradient",
        say("Gradient by layer", "층별 그래디언트"),
        say("|dL/dx| at the input of each sub-layer, and its two parts: through the branch F and "
            "past it, through the residual's 1. Norms within a factor of ten of each other are "
            "normal.",
            "각 하위 층의 입력에서의 |dL/dx|와 그 두 부분: 가지 F를 지난 것과 잔차의 1을 지난 것. "
            "서로 열 배 안쪽이면 정상이다."),
        concat(say("Here they differ by a factor of ", "여기서는 최대 "), show(ratio, 3),
               say(". ", "배 차이가 난다. "),
               bad ? say("Early layers learn at another pace than late ones: `--residual pre` or "
                         "deepnorm evens it out.",
                         "앞 층과 뒤 층이 다른 속도로 배운다. `--residual pre`나 deepnorm이 이를 "
                         "고르게 한다.")
                   : say("Nothing to do.", "조치할 것은 없다.")),
        bad,
        sub_layers(
            {{say("whole", "전체"), &SubLayerSummary::gradient},
             {say("through the residual", "잔차를 지난 것"), &SubLayerSummary::through_residual},
             {say("through the branch", "가지를 지난 것"), &SubLayerSummary::through_branch}},
            {say("|gradient|", "|그래디언트|"), "", true})};
  }

  ReportSection activations() const {
    double spike = 0;
    for (const SubLayerSummary& s : view_.sub_layers) spike = std::max(spike, s.largest / s.size);
    return {
        "activations",
        say("Activations", "활성값"),
        say("Root mean square and greatest magnitude of what enters each sub-layer. In pre-LN "
            "models it grows with depth; in post-LN it stays. A value fifty times the rest rounds "
            "badly and often comes before divergence.",
            "각 하위 층에 들어오는 값의 제곱평균제곱근과 최대 크기. pre-LN에서는 깊이에 따라 "
            "커지고 post-LN에서는 일정하다. 나머지의 쉰 배인 값은 반올림 오차가 크고, 흔히 발산의 "
            "전조이다."),
        concat(say("The greatest value is ", "가장 큰 값은 평균 크기의 "), show(spike, 3),
               say(" times the typical size. ", "배이다. "),
               spike > kMostSpike ? say("Clip the gradient or lower the learning rate.",
                                        "그래디언트를 자르거나 학습률을 낮춰라.")
                                  : say("Nothing to do.", "조치할 것은 없다.")),
        spike > kMostSpike,
        sub_layers({{say("largest", "최대"), &SubLayerSummary::largest},
                    {say("root mean square", "제곱평균제곱근"), &SubLayerSummary::size}},
                   {say("magnitude", "크기"), "", true})};
  }

  ReportSection branches() const {
    const Spread v = over_sub_layers(&SubLayerSummary::branch);
    return {
        "branches",
        say("What a sub-layer adds", "하위 층이 더하는 것"),
        say("|F(x)| / |x|: below 1 a sub-layer amends what passes through; far below 0.01 it does "
            "nothing and could go.",
            "|F(x)| / |x|: 1보다 작으면 지나가는 것을 다듬고, 0.01보다 훨씬 작으면 하는 일이 없어 "
            "빼도 된다."),
        concat(say("Here from ", "여기서는 "), show(v.low, 3), say(" to ", "에서 "),
               show(v.high, 3), say(".", "까지이다.")),
        false,
        sub_layers({{"|F(x)| / |x|", &SubLayerSummary::branch}}, {"|F(x)| / |x|", "", true})};
  }

  ReportSection experts() const {
    plot::Bars bars{.category_axis = say("expert", "전문가"),
                    .value = {say("share of the choices", "선택 비율"), "%"}};
    Spread over_even;
    for (const ExpertUse& use : view_.experts) {
      plot::BarSeries series{use.module, {}, {}, {}};
      for (const double load : use.load) {
        series.values.push_back(100 * load);
        over_even.add(load * static_cast<double>(use.load.size()));
      }
      bars.series.push_back(std::move(series));
    }
    for (size_t i = 0; i < view_.experts[0].load.size(); ++i) {
      bars.categories.push_back(std::to_string(i + 1));
    }
    const bool idle = over_even.low < kLeastLoad;
    plot::Figure figure;
    figure.panels.push_back(std::move(bars));
    return {"experts",
            say("Load of the experts", "전문가의 부하"),
            say("How the router spreads tokens over the experts of a layer. Half to twice an even "
                "share is normal; an expert that is hardly ever chosen does not learn.",
                "라우터가 토큰을 한 층의 전문가들에게 나누는 비율. 고른 몫의 절반에서 두 배까지는 "
                "정상이며, 거의 선택되지 않는 전문가는 배우지 못한다."),
            concat(say("Here from ", "여기서는 고른 몫의 "), show(over_even.low, 3),
                   say(" to ", "배에서 "), show(over_even.high, 3),
                   say(" times an even share. ", "배까지이다. "),
                   idle ? say("Raise `--balance`, or train with fewer experts.",
                              "`--balance`를 높이거나 전문가 수를 줄여라.")
                        : say("Nothing to do.", "조치할 것은 없다.")),
            idle,
            std::move(figure)};
  }

 private:
  std::string title_of(Kind kind) const {
    return kind == Kind::kEncoder   ? say("encoder self-attention", "인코더 셀프 어텐션")
           : kind == Kind::kDecoder ? say("decoder self-attention", "디코더 셀프 어텐션")
                                    : say("cross attention", "교차 어텐션");
  }

  const ModelView& view_;
  Language language_;
};

}  // namespace

std::vector<ReportSection> report_sections(const ModelView& view, Language language) {
  const Writer w(view, language);
  std::vector<ReportSection> sections;
  if (w.measured(&HeadView::variance)) {  // else no query sees two keys
    sections = {w.variance(), w.entropy(), w.saturated()};
    if (view.scaled) sections.push_back(w.unscaled());
    if (w.measured(&HeadView::first)) sections.push_back(w.first());
    if (view.has_sink) sections.push_back(w.sink());
  }
  sections.push_back(w.gradient());
  sections.push_back(w.activations());
  sections.push_back(w.branches());
  if (!view.experts.empty()) sections.push_back(w.experts());
  for (ReportSection& section : sections) section.figure.title = section.heading;
  return sections;
}

}  // namespace rapt::insight

#include "rapt/insight/report.h"

#include <cmath>

#include "rapt/insight/result.h"
#include "rapt/plot/html.h"

namespace rapt::insight {
namespace {

constexpr std::string_view kKindNames[] = {"encoder", "decoder", "cross"};

std::string_view name_of(AttentionMap::Kind kind) { return kKindNames[static_cast<size_t>(kind)]; }

Json number(double v) { return std::isfinite(v) ? Json(v) : Json(nullptr); }

}  // namespace

std::string report_page(const ReportSubject& subject, const ModelView& view, Language language) {
  const auto say = [&](std::string_view en, std::string_view ko) {
    return std::string(language == Language::kEnglish ? en : ko);
  };
  plot::Page page;
  page.language = rapt::name_of(language);
  page.title = concat(say("Inside ", "들여다보기: "), subject.model);
  page.paragraphs = {
      concat(view.sentences, say(" sentences of ", "문장, 출처 "), subject.data, ", ", view.tokens,
             say(" tokens of output; loss ", "개의 출력 토큰, 손실 "), show(view.loss, 4),
             say(" nats a token, perplexity ", " nat(토큰당), 퍼플렉시티 "),
             show(std::exp(view.loss), 4), say(".", "."),
             subject.left_out == 0
                 ? ""
                 : concat(' ', subject.left_out,
                          say(" longer sentences were left out.", "개의 긴 문장은 제외했다.")))};
  std::string alarms;
  for (const ReportSection& section : report_sections(view, language)) {
    if (section.alarming) alarms += concat(alarms.empty() ? "" : ", ", section.heading);
    page.sections.push_back(
        {section.heading, {section.normal, section.met}, section.figure, section.alarming});
  }
  page.paragraphs.push_back(
      alarms.empty() ? say("Nothing calls for action.", "조치가 필요한 것은 없다.")
                     : concat(say("Calls for action: ", "조치가 필요한 것: "), alarms, '.'));
  page.paragraphs.push_back(
      say("Layers and heads count from 1. The limits that call for action are rules of thumb.",
          "층과 헤드는 1부터 센다. 조치의 기준은 경험칙이다."));
  page.data = report_json(subject, view).dump();
  return plot::to_html(page);
}

Json report_json(const ReportSubject& subject, const ModelView& view) {
  Json attention = Json::array(), sub_layers = Json::array(), calls = Json::array();
  for (const AttentionView& a : view.attention) {
    for (size_t h = 0; h < a.heads.size(); ++h) {
      const HeadView& head = a.heads[h];
      Json row = {{"kind", name_of(a.kind)},
                  {"layer", a.layer + 1},
                  {"head", h + 1},
                  {"score_variance", number(head.variance)},
                  {"effective_share", number(head.effective)},
                  {"saturated_share", number(head.saturated)},
                  {"first_key", number(head.first)},
                  {"first_key_if_even", number(head.even)}};
      if (view.scaled) row["saturated_share_unscaled"] = number(head.unscaled);
      if (view.has_sink) row["sink"] = number(head.sink);
      attention.push_back(std::move(row));
    }
  }
  for (const SubLayerSummary& s : view.sub_layers) {
    sub_layers.push_back({{"name", s.name},
                          {"rms", number(s.size)},
                          {"largest", number(s.largest)},
                          {"branch_ratio", number(s.branch)},
                          {"gradient", number(s.gradient)},
                          {"gradient_through_branch", number(s.through_branch)},
                          {"gradient_through_residual", number(s.through_residual)}});
  }
  for (const ReportSection& section : report_sections(view, Language::kEnglish)) {
    if (section.alarming) calls.push_back(section.key);
  }
  return {{"model", subject.model},
          {"data", subject.data},
          {"sentences", view.sentences},
          {"left_out", subject.left_out},
          {"tokens", view.tokens},
          {"loss", number(view.loss)},
          {"attention", attention},
          {"sub_layers", sub_layers},
          {"experts", to_json(view.experts)},
          {"calls_for_action", calls}};
}

}  // namespace rapt::insight

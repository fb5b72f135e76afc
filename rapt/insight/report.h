// A page about a trained model and a text: each figure with a plain sentence on what is normal, what
// was met, and what calls for action.
#pragma once
#include <string>
#include <vector>

#include "rapt/insight/claim.h"
#include "rapt/insight/model_view.h"
#include "rapt/io/json.h"

namespace rapt::insight {

struct ReportSection {
  std::string key;  // of JSON: "variance"
  std::string heading, normal, met;
  bool alarming = false;
  plot::Figure figure;
};

std::vector<ReportSection> report_sections(const ModelView& view, Language language);

struct ReportSubject {
  std::string model, data;  // as the user named them
  size_t left_out = 0;      // sentences longer than the model's positions
};

// One page that needs nothing else.
std::string report_page(const ReportSubject& subject, const ModelView& view, Language language);

// {"model", "data", "sentences", "tokens", "loss", "attention": [{"kind", "layer", "head", …}],
// "sub_layers": [{"name", …}], "experts": {…}, "calls_for_action": [key]}: layers and heads from 1.
Json report_json(const ReportSubject& subject, const ModelView& view);

}  // namespace rapt::insight

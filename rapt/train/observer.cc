#include "rapt/train/observer.h"

namespace rapt {

Json to_json(const TrainLine& line) {
  Json json = {{"kind", "train"},
               {"step", line.step},
               {"epoch", line.epoch},
               {"loss", line.loss},
               {"objective", line.objective},
               {"lr", line.lr},
               {"grad_norm", line.grad_norm},
               {"target_tokens", line.target_tokens},
               {"tokens_per_s", line.tokens_per_s},
               {"seconds", line.seconds},
               {"skipped", line.skipped}};
  if (!line.experts.empty()) json["experts"] = to_json(line.experts);
  return json;
}

Json to_json(const ValidLine& line) {
  Json json = {{"kind", "valid"},
               {"step", line.step},
               {"epoch", line.epoch},
               {"loss", line.loss},
               {"perplexity", line.perplexity}};
  for (const auto& [name, value] : line.decoded) json[name] = value;
  json["best"] = line.best;
  json["seconds"] = line.seconds;
  return json;
}

}  // namespace rapt

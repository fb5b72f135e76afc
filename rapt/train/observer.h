// What a run tells whoever watches: the library itself prints nothing.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rapt/io/json.h"
#include "rapt/models/transformer.h"
#include "rapt/train/expert_use.h"

namespace rapt {

struct RunStart {
  size_t parameters = 0;
  size_t memory = 0;         // bytes, estimated
  uint64_t step = 0;         // > 0: the run goes on
  uint64_t epoch_steps = 0;  // updates of the first epoch to come
};

// After each update.
struct Progress {
  uint64_t step = 0, epoch = 0;  // epoch: of this update, from 1
  double loss = 0;               // of this update
  double tokens_per_s = 0;       // target tokens, since the last line of the log
  double done = 0;               // share of the run that is over, 0 … 1
  double seconds_left = 0;
};

// The lines of metrics.jsonl (metrics_log.h).
struct TrainLine {
  uint64_t step = 0, epoch = 0;
  double loss = 0, objective = 0, lr = 0, grad_norm = 0;
  uint64_t target_tokens = 0;
  double tokens_per_s = 0, seconds = 0;
  uint64_t skipped = 0;
  std::vector<ExpertUse> experts = {};  // averages, as loss; none in a model without experts
};
struct Sample {
  std::string source, output, reference;
};
struct ValidLine {
  uint64_t step = 0, epoch = 0;
  double loss = 0, perplexity = 0;
  std::vector<std::pair<std::string, double>> decoded;  // by name
  bool best = false;
  double seconds = 0;
  std::vector<Sample> samples;  // not in the file
};
Json to_json(const TrainLine& line);
Json to_json(const ValidLine& line);

// Metrics of decoded lines, by name, and a few of the lines to show.
struct DecodedMetrics {
  std::vector<std::pair<std::string, double>> values;
  std::vector<Sample> samples;
};
// Decodes validation items; nothing when it was stopped. Training itself knows no search.
using DecodeFunction = std::function<std::optional<DecodedMetrics>(const Transformer&)>;

class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  virtual void started(const RunStart&) {}
  virtual void stepped(const Progress&) {}
  virtual void trained(const TrainLine&) {}
  virtual void validated(const ValidLine&) {}
  virtual void saved(uint64_t /*step*/) {}
  virtual void warned(const std::string& /*message*/) {}
};

}  // namespace rapt

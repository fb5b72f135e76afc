// What a run must know, besides its tensors, to go on as if it had never stopped: state.json of a
// checkpoint. Nothing in it depends on time, host or threads.
#pragma once
#include <cstdint>

#include "rapt/io/json.h"
#include "rapt/train/best.h"
#include "rapt/train/expert_use.h"

namespace rapt {

// Sums since the last line of metrics.jsonl.
struct LogWindow {
  uint64_t updates = 0, target_tokens = 0;
  double nll = 0, objective = 0;  // nats
  double grad_norm = 0;
  std::vector<ExpertUse> experts = {};
  bool operator==(const LogWindow&) const = default;
};

struct RunState {
  uint64_t step = 0;              // updates so far, skipped ones too
  uint64_t applied = 0;           // updates that changed the weights
  uint64_t epoch = 0, index = 0;  // the next update is BatchPlan::at(epoch, index)
  uint64_t skipped = 0;           // updates whose loss or gradient was not finite
  uint64_t skipped_in_a_row = 0;  // of these, the last ones
  uint64_t target_tokens = 0;     // trained on so far
  bool validated = false;         // the validation that is due at `step` is over
  Best best;
  LogWindow window;

  bool operator==(const RunState&) const = default;
};

Json to_json(const RunState& state);
RunState run_state_of_json(const JsonObject& object);  // throws IoError

}  // namespace rapt

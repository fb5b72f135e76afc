// metrics.jsonl: one JSON object a line, for programs. The kinds and their keys:
//   train   step, epoch, loss, objective, lr, grad_norm, target_tokens, tokens_per_s, seconds,
//           skipped. loss: nats a target token without label smoothing, objective: with it, both
//           averages since the last line, as is grad_norm; target_tokens, seconds and skipped
//           count from the start of the run. With experts: experts, by layer {balance, load}, averages
//           as loss is: 1 for tokens that are spread evenly, and the share of each expert
//   valid   step, epoch, loss, perplexity, then the metrics that needed decoding, best (whether it
//           is the best so far), seconds
//   resume  step, epoch
#pragma once
#include <string_view>

#include "rapt/io/json.h"

namespace rapt {

class MetricsLog {
 public:
  // Goes on after `step`: lines of later steps, and a line that a killed process left unfinished,
  // go. Step 0 begins a new file.
  MetricsLog(fs::path path, uint64_t step);

  void append(const Json& line);               // IoError when it cannot be written
  double seconds() const { return seconds_; }  // of the last line that was there

 private:
  fs::path path_;
  double seconds_ = 0;
};

}  // namespace rapt

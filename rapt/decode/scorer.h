// Scores given outputs: the log-probabilities that decoding would meet, number for number.
#pragma once
#include <span>
#include <vector>

#include "rapt/models/model_directory.h"

namespace rapt {

struct Score {
  double log_probability = 0;  // natural, summed in order, </s> included
  size_t tokens = 0;           // with </s>
  double perplexity() const;   // exp(-log_probability / tokens)
};

// One score an example, in order; a source is empty when the model is decoder-only. Throws
// InvalidArgument for a side that is longer than the model's positions.
std::vector<Score> score(const Model& model, std::span<const Example> examples, Pool& pool,
                         size_t batch_tokens = 4096);

}  // namespace rapt

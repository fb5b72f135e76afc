// The promise of the same bits, measured on a given model: each line alone and in a batch, with and
// without the cache, by one thread and by several.
#pragma once
#include <string>
#include <vector>

#include "rapt/models/model_directory.h"

namespace rapt {

struct InvarianceResult {
  std::string name;      // what was compared
  size_t compared = 0;   // numbers
  size_t different = 0;  // of them with other bits
  std::string first;     // where the first difference lies; empty if none
};

// Teacher-forced log-probabilities of the examples, computed in each way. Examples must fit the
// model's positions.
std::vector<InvarianceResult> check_invariance(const Model& model,
                                               std::span<const Example> examples, size_t threads);

}  // namespace rapt

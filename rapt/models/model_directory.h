// A model is a directory: config.json (architecture and text processing), model.safetensors
// (readable by the Python package of that name), vocabulary files.
#pragma once
#include "rapt/models/transformer.h"
#include "rapt/text/text_processor.h"

namespace rapt {

// 2: `residual` in the place of `norm_order`, and keys that version 1 lacks, where each means its
// default. Version 1 is read as well.
inline constexpr int64_t kFormatVersion = 2;

struct Model {
  Transformer transformer;
  TextProcessor text;
};

// Throws IoError: a missing file, another version, a key of config.json that is missing or unknown,
// a tensor that is missing, unknown or of another shape; the message names the file and what to do.
// Sizes are compared with those of the weights' file before memory is allocated.
Model load_model(const fs::path& directory);
// The same text and configuration with other weights, for example those of a checkpoint.
Model load_model(const fs::path& directory, const fs::path& weights);

// Vocabulary files first, then config.json, each atomically.
void save_config(const fs::path& directory, const ModelConfig& config, const TextProcessor& text);
void save_weights(const fs::path& file, const ParameterSet& parameters);  // atomically
// Into the memory that parameters have, or into new memory for those that have none yet. Tensors
// under a tied parameter's other names are accepted if they are equal.
void load_weights(const fs::path& file, ParameterSet& parameters);

}  // namespace rapt

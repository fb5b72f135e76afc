// Models of a few symbols with random weights, for the tests of decoding.
#pragma once
#include <unistd.h>

#include <fstream>

#include "rapt/models/model_directory.h"

namespace rapt::testing {

inline fs::path temporary_file(const std::string& name, const std::string& text) {
  const fs::path path = fs::temp_directory_path() / concat("rapt-", getpid(), "-", name);
  std::ofstream(path) << text;
  return path;
}

inline ModelConfig tiny_config() {
  ModelConfig config;
  config.d_model = 16;
  config.heads = 2;
  config.d_ff = 24;
  config.encoder_layers = config.decoder_layers = 2;
  config.max_positions = 32;
  return config;
}

// Larger weights than training starts with, so that distributions are not flat.
inline InitOptions wild_init(uint64_t seed) { return {InitWeights::kNormal, 0.5f, seed}; }

// Characters a … d to x, y, z.
inline Model tiny_pairs_model(uint64_t seed = 1, ModelConfig config = tiny_config()) {
  const fs::path path = temporary_file("pairs.tsv", "abcd\txyz\nab\tzy\n");
  TextProcessor text = TextProcessor::build(TextOptions(), ParallelCorpus::open({path}));
  fs::remove(path);
  Transformer t(config, text.source().size(), text.target().size(), wild_init(seed));
  return {std::move(t), std::move(text)};
}

// Characters x, y, z and the newline, decoder-only.
inline Model tiny_text_model(uint64_t seed = 1, Positions positions = Positions::kLearned) {
  const fs::path path = temporary_file("text.txt", "xyz\nzy\n");
  TextProcessor text = TextProcessor::build(SideOptions(), TextStream(path));
  fs::remove(path);
  ModelConfig config = tiny_config();
  config.architecture = Architecture::kDecoder;
  config.positions = positions;
  config.max_positions = 8;
  Transformer t(config, 0, text.target().size(), wild_init(seed));
  return {std::move(t), std::move(text)};
}

}  // namespace rapt::testing

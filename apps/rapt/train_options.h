// What `rapt train` is told: the lists of fields of model, text and training, and the options that
// set several of them.
#pragma once
#include <string>
#include <vector>

#include "apps/rapt/command_line.h"
#include "rapt/models/transformer.h"
#include "rapt/text/text_processor.h"
#include "rapt/train/options.h"

namespace rapt {

enum class VocabularyKind { kSeparate, kJoint };
template <>
inline constexpr auto kNames<VocabularyKind> = names<VocabularyKind>(
    {{VocabularyKind::kSeparate, "separate"}, {VocabularyKind::kJoint, "joint"}});

namespace app {

struct TrainArguments {
  std::string model;
  std::vector<std::string> train, valid;  // one TSV, or source and target
  std::string text;                       // decoder-only: one text
  size_t context = 64;
  size_t threads = 1;
  bool strict = false;
  bool prepare = false;
  ModelConfig config;
  TextOptions text_options;
  InitOptions init;
  TrainOptions training;

  // All that the run depends on, by the names of the options.
  Json told() const;
};

// False when only help was asked for. Throws InvalidArgument for options that contradict each
// other.
bool parse_train(const Arguments& arguments, TrainArguments& result);

}  // namespace app
}  // namespace rapt

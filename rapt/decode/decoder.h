// Decodes many lines: sorted by length inside, batches shared among threads, answers in the order
// of the questions. Results depend on nothing but the line, the model and the options.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "rapt/decode/search.h"
#include "rapt/models/model_directory.h"

namespace rapt {

class Decoder {
 public:
  // Throws InvalidArgument for options out of range. Borrows model and pool.
  Decoder(const Model& model, const DecodeOptions& options, Pool& pool);

  // One result a sentence, in order. With enough sentences each thread decodes batches of its own,
  // else the threads share one.
  std::vector<std::vector<Hypothesis>> decode(std::span<const Sentence> sentences) const;
  // The sentence as decode() takes it: ids with </s>; equal lines get sample numbers in turn, over
  // the life of the decoder.
  Sentence sentence(std::vector<int32_t> source, std::vector<int32_t> prefix);

  const VocabularyFilter& filter() const { return filter_; }

 private:
  const Model& model_;
  DecodeOptions options_;
  Pool& pool_;
  VocabularyFilter filter_;
  std::map<uint64_t, uint64_t> seen_;  // how often each line was met; kept when sampling only
};

}  // namespace rapt

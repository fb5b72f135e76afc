// Token ids and ragged batches for training, by a rule that needs no file of ours, so that programs
// of other frameworks step on the same batches (tools/peers/corpus.py has the same rule):
//   vocabulary  <pad> <s> </s> <unk>, then every token of the data, source and target joined, by
//               falling count, ties in code-point order
//   batches     pairs sorted by (target length, source length), ends included; a batch is closed
//               when the next pair would make its target tokens exceed the budget; then batches are
//               shuffled as Python's random.Random(1).shuffle does
#pragma once
#include <string>
#include <vector>

#include "rapt/text/batches.h"

namespace rapt::app::bench {

struct Pairs {
  std::vector<Example> examples;  // ids without <s> and </s>
  size_t vocabulary = 0;
};

// A file: TSV of a word and its phonemes; a folder: words of train.en and train.de.
Pairs read_pairs(const std::string& path);
// Without data: drawn ids, with lengths as those of the data of this size: of Multi30k in
// subwords, or of the words of a pronouncing dictionary.
Pairs draw_pairs(const std::string& size);

std::vector<Update> make_batches(const Pairs& pairs, size_t target_tokens);

}  // namespace rapt::app::bench

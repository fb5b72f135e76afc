// Ragged batches: which sentences an update sees, as a pure function of (data, seed, options). A
// run that resumes needs two integers, the epoch and the index; nothing else is stored.
//
//   order    line = permutation(position), keyed by (seed, epoch): see permutation.h
//   windows  equal parts of the order, about 64 updates long; inside, items are sorted by target
//            and source length, cut into updates, and the updates shuffled by a permutation
//   update   at most batch_tokens * accumulate target tokens with </s>, and twice that in the
//            source; an item beyond that stands alone
//   shards   an update is cut into shards * accumulate parts of about equal length, fewer when it
//            has fewer items. So (batch_tokens 8000, shards 2) and (batch_tokens 4000,
//            accumulate 2) are the same run, bit for bit
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rapt/base/lengths.h"
#include "rapt/parallel/pool.h"
#include "rapt/text/corpus.h"
#include "rapt/text/text_processor.h"

namespace rapt {

// Sentences one after another, without padding. Row r of target_in predicts target_out[r].
struct Shard {
  Lengths source, target;           // source is empty when decoder-only; ids are item numbers
  std::vector<int32_t> source_ids;  // source.rows(); each sentence ends with </s>
  std::vector<int32_t> target_in;   // target.rows(); decoder_start, then the sentence
  std::vector<int32_t> target_out;  // the sentence, then </s>
};

struct Update {
  std::vector<Shard> shards;
  uint64_t target_tokens = 0;  // of all shards: what gradients are divided by
};

// One sentence pair as ids, without <s> and </s>.
struct Example {
  uint64_t id = 0;
  std::vector<int32_t> source, target;
};
// Adds </s> and decoder_start. `source` is left out when the model has none.
Shard make_shard(std::span<const Example> examples, const TextProcessor& text);

struct BatchOptions {
  uint64_t seed = 0;
  size_t batch_tokens = 4096;
  size_t accumulate = 1;
  size_t shards = 1;
  size_t max_length = 1024;  // tokens with </s>, each side; longer items are left out and counted
  bool shuffle = true;       // false: the order of the file, for validation; sorted inside a window
  bool keep_empty = false;   // true: an empty side is one </s>, for validation

  // Fixed order, nothing left out but what is longer than `max_length`.
  static BatchOptions validation(size_t batch_tokens, size_t max_length);
};

struct BatchCounts {
  uint64_t items = 0;     // in the data
  uint64_t used = 0;      // in every epoch
  uint64_t empty = 0;     // left out: a side without a token
  uint64_t too_long = 0;  // left out: more than max_length tokens, or a line over the byte limit
  uint64_t source_tokens = 0, target_tokens = 0;  // of the used ones, with </s>
  uint64_t content = 0;  // a hash of all ids and their places: other data have another one
  uint64_t first_empty = 0, first_too_long = 0;  // line numbers from 1; 0: none
  // "left out 3 of 29000 items: 1 empty (first: line 17), 2 over 1024 tokens (first: line 4)";
  // empty when nothing was.
  std::string report(const BatchOptions& options) const;
  void add(const BatchCounts& later);  // of items after these
};

class BatchPlan {
 public:
  // Reads and tokenises all of the data once, in parallel, to learn the lengths. Throws
  // InvalidArgument for options out of range, IoError when nothing is left to train on. Borrows the
  // pool: an epoch is laid out by its threads.
  BatchPlan(ParallelCorpus corpus, TextProcessor text, const BatchOptions& options, Pool& pool);
  // A stream in windows of `context` tokens, each predicting its successor: nothing is dropped, and
  // windows start at another place in each epoch when shuffled (at 0 when not).
  BatchPlan(TextStream stream, TextProcessor text, size_t context, const BatchOptions& options,
            Pool& pool);
  ~BatchPlan();
  BatchPlan(BatchPlan&&) noexcept;
  BatchPlan& operator=(BatchPlan&&) noexcept;

  uint64_t updates(uint64_t epoch) const;           // in this epoch; at least 1
  Update at(uint64_t epoch, uint64_t index) const;  // index < updates(epoch). Thread-safe, but not
                                                    // for tasks of the pool; in order it is cheap,
                                                    // elsewhere a window more
  const BatchCounts& counts() const;
  const UnknownSymbols& unknown_source() const;  // in the whole data, counted once
  const UnknownSymbols& unknown_target() const;
  const BatchOptions& options() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rapt

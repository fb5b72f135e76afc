// What a batch plan draws from: the pairs of a corpus, or the stretches of a stream.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "rapt/text/batches.h"

namespace rapt {

// Rows of one sequence in a shard.
struct BatchRows {
  uint64_t id = 0;
  std::vector<int32_t> source, target_in, target_out;
};
Shard assemble(std::span<const BatchRows> sequences);

class BatchItems {
 public:
  struct Size {
    uint32_t source = 0, target = 0;  // tokens as in the rows; target 0: left out
  };
  virtual ~BatchItems() = default;
  virtual uint64_t count(uint64_t epoch) const = 0;
  virtual Size size(uint64_t epoch, uint64_t item) const = 0;
  virtual BatchRows rows(uint64_t epoch, uint64_t item) const = 0;

  BatchCounts counts;
  UnknownSymbols unknown_source, unknown_target;
};

class PairItems : public BatchItems {
 public:
  PairItems(ParallelCorpus corpus, TextProcessor text, const BatchOptions& options, Pool& pool);
  uint64_t count(uint64_t) const override { return sizes_.size(); }
  Size size(uint64_t, uint64_t item) const override { return sizes_[item]; }
  BatchRows rows(uint64_t epoch, uint64_t item) const override;

 private:
  struct Block;
  void measure(uint64_t item, ParallelCorpus::Cursor& cursor, const BatchOptions& options,
               Block& block);

  ParallelCorpus corpus_;
  TextProcessor text_;
  std::vector<Size> sizes_;
};

// Stretch k of tokens t_0 … t_N-1 starts at 0, s, s + c, s + 2c, … and gives t_a … t_b-1 to predict
// t_a+1 … t_b, where b is the next start, at most N - 1. c is the context; the shift s is drawn for
// each epoch from 1 … c (c itself when the order is fixed).
class StreamItems : public BatchItems {
 public:
  StreamItems(TextStream stream, TextProcessor text, size_t context, const BatchOptions& options,
              Pool& pool);
  uint64_t count(uint64_t epoch) const override;
  Size size(uint64_t epoch, uint64_t item) const override;
  BatchRows rows(uint64_t epoch, uint64_t item) const override;

 private:
  uint64_t shift(uint64_t epoch) const;
  uint64_t start(uint64_t epoch, uint64_t item) const;
  // Puts the ids of a chunk after what `ids` holds.
  void encode_to(std::vector<int32_t>& ids, uint64_t chunk, TextStream::Cursor& cursor,
                 UnknownSymbols* unknown) const;
  std::vector<int32_t> tokens(uint64_t begin, uint64_t end) const;

  TextStream stream_;
  TextProcessor text_;
  uint64_t context_, seed_;
  bool shuffle_;
  std::vector<uint64_t> starts_;  // the first token of each chunk, and the number of tokens
};

}  // namespace rapt

// What decoding keeps between steps: for each hypothesis the list of slots that hold its keys and
// values, shared with the hypotheses that it forked from; for each sentence the keys and values of
// cross attention. Allocated once.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rapt/base/lengths.h"
#include "rapt/tensor/tensor.h"

namespace rapt {

struct CacheWidths {  // of a row of K and of V, all heads together
  size_t keys, values;
};

// Rows of K and V of all layers, by slot. Lists of slots are copied when beams are reordered; keys
// never move. A slot is free again when the last list that holds it has gone.
//
// One array holds the keys of all layers, another the values: some slots of the first layer, the
// same of the next, …, then further slots. So what was ever used lies together, and the rest of the
// array costs no memory.
class KVCache {
 public:
  KVCache(size_t layers, CacheWidths widths, size_t slots,
          MemoryPool& memory = MemoryPool::process());

  uint32_t open(uint64_t id);                                       // a sequence joins; its index
  std::span<const int32_t> append(uint32_t sequence, size_t rows);  // new slots; throws when full
  std::span<const int32_t> slots(uint32_t sequence) const;          // all, by position
  // New sequence i continues parents[i]; sequences that are nobody's parent leave.
  void reorder(std::span<const uint32_t> parents);
  size_t sequences() const { return lists_.size(); }
  uint64_t id(uint32_t sequence) const { return lists_[sequence].id; }
  size_t free_slots() const { return free_.size(); }

  // Row `slot` is that of the slot: [>= slots, widths.keys].
  Tensor keys(size_t layer) const { return of_layer(keys_, layer); }
  Tensor values(size_t layer) const { return of_layer(values_, layer); }

 private:
  struct List {
    uint64_t id = 0;
    std::vector<int32_t> slots;
  };
  List take_spare(uint64_t id);  // an empty list, with the memory of one that has left
  void give_back(List&& list);
  Tensor of_layer(const Tensor& all, size_t layer) const;

  size_t layers_, slots_, chunk_ = 0;  // chunk_: slots of a layer that lie side by side
  Tensor keys_, values_;
  std::vector<List> lists_, next_, spare_;
  std::vector<int32_t> free_;    // the next to be given is the last
  std::vector<uint32_t> users_;  // by slot: lists that hold it
  std::vector<uint32_t> heirs_;  // by sequence, while reordering
};

// The cross-attention memory of one sentence: of each layer K and V side by side, by source row.
struct SourceMemory {
  uint64_t id = 0;
  size_t rows = 0;
  std::vector<Tensor> keys_values;
};

class State {
 public:
  // `slots`: rows of all hypotheses together.
  State(size_t layers, CacheWidths widths, size_t slots,
        MemoryPool& memory = MemoryPool::process());

  size_t hypotheses() const { return cache_.sequences(); }
  uint64_t id(size_t hypothesis) const { return cache_.id(static_cast<uint32_t>(hypothesis)); }
  // Beams: new hypothesis i continues parents[i]. Finished sentences leave by having no heir.
  void reorder(std::span<const uint32_t> parents);

  KVCache& cache() { return cache_; }
  const KVCache& cache() const { return cache_; }
  const std::shared_ptr<const SourceMemory>& source(size_t hypothesis) const {
    return sources_[hypothesis];
  }
  // A hypothesis joins at the end of the list. `source` is null when decoder-only.
  void add(uint64_t id, std::shared_ptr<const SourceMemory> source);
  void clear();  // no hypotheses, all slots free

 private:
  KVCache cache_;
  std::vector<std::shared_ptr<const SourceMemory>> sources_, next_;  // by hypothesis
};

}  // namespace rapt

#include "rapt/models/state.h"

#include <algorithm>
#include <utility>

#include "rapt/base/check.h"

namespace rapt {

KVCache::KVCache(size_t layers, CacheWidths widths, size_t slots, MemoryPool& memory)
    : layers_(layers), slots_(slots) {
  constexpr size_t kChunk = 64, kMostRows = size_t{1} << 31;
  const size_t chunks = (slots + kChunk - 1) / kChunk;
  chunk_ = chunks == 0 ? 0 : (slots + chunks - 1) / chunks;
  const bool countable = slots < kMostRows && layers < kMostRows / std::max<size_t>(1, slots);
  const size_t rows = countable ? layers * chunks * chunk_ : kMostRows;
  check(rows < kMostRows, "KVCache: ", slots, " slots of ", layers, " layers, expected less than ",
        kMostRows, " together");
  keys_ = Tensor(memory, {rows, widths.keys});
  values_ = Tensor(memory, {rows, widths.values});
  users_.assign(rows, 0);
  free_.reserve(slots);
  for (size_t i = slots; i-- > 0;) {
    free_.push_back(static_cast<int32_t>(i / chunk_ * layers * chunk_ + i % chunk_));
  }
}

Tensor KVCache::of_layer(const Tensor& all, size_t layer) const {
  return all.slice_rows(layer * chunk_, all.rows() - (layers_ - 1 - layer) * chunk_);
}

KVCache::List KVCache::take_spare(uint64_t id) {
  List list;
  if (!spare_.empty()) {
    list = std::move(spare_.back());
    spare_.pop_back();
  }
  list.id = id;
  return list;
}

void KVCache::give_back(List&& list) {
  for (const int32_t slot : list.slots) {
    if (--users_[static_cast<size_t>(slot)] == 0) free_.push_back(slot);
  }
  list.slots.clear();
  spare_.push_back(std::move(list));
}

uint32_t KVCache::open(uint64_t id) {
  lists_.push_back(take_spare(id));
  return static_cast<uint32_t>(lists_.size() - 1);
}

std::span<const int32_t> KVCache::append(uint32_t sequence, size_t rows) {
  check(sequence < lists_.size(), "KVCache: sequence ", sequence, " of ", lists_.size());
  check(rows <= free_.size(), "KVCache: ", rows, " rows wanted, but ", free_.size(), " of ", slots_,
        " slots are free; open fewer or shorter sequences at once");
  std::vector<int32_t>& slots = lists_[sequence].slots;
  for (size_t i = 0; i < rows; ++i) {
    slots.push_back(free_.back());
    users_[static_cast<size_t>(free_.back())] = 1;
    free_.pop_back();
  }
  return std::span<const int32_t>(slots).last(rows);
}

std::span<const int32_t> KVCache::slots(uint32_t sequence) const {
  check(sequence < lists_.size(), "KVCache: sequence ", sequence, " of ", lists_.size());
  return lists_[sequence].slots;
}

void KVCache::reorder(std::span<const uint32_t> parents) {
  for (const uint32_t parent : parents) {
    check(parent < lists_.size(), "KVCache: parent ", parent, " of ", lists_.size(), " sequences");
  }
  heirs_.assign(lists_.size(), 0);
  for (const uint32_t parent : parents) ++heirs_[parent];
  for (size_t i = 0; i < lists_.size(); ++i) {
    if (heirs_[i] == 0) give_back(std::move(lists_[i]));
  }
  // The last heir takes over its parent's list, earlier ones copy it.
  next_.clear();
  for (const uint32_t parent : parents) {
    List& list = lists_[parent];
    if (--heirs_[parent] == 0) {
      next_.push_back(std::move(list));
      continue;
    }
    List copy = take_spare(list.id);
    copy.slots = list.slots;
    for (const int32_t slot : copy.slots) ++users_[static_cast<size_t>(slot)];
    next_.push_back(std::move(copy));
  }
  std::swap(lists_, next_);
}

State::State(size_t layers, CacheWidths widths, size_t slots, MemoryPool& memory)
    : cache_(layers, widths, slots, memory) {}

void State::add(uint64_t id, std::shared_ptr<const SourceMemory> source) {
  cache_.open(id);
  sources_.push_back(std::move(source));
}

void State::clear() { reorder({}); }

void State::reorder(std::span<const uint32_t> parents) {
  cache_.reorder(parents);
  next_.clear();
  for (const uint32_t parent : parents) next_.push_back(sources_[parent]);
  std::swap(sources_, next_);
  next_.clear();  // the memory of a sentence goes with its last hypothesis
}

}  // namespace rapt

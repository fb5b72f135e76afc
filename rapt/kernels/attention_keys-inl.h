// Where the keys of a sequence are, and which of them a query sees. A key has a coordinate j: its
// absolute position less a multiple of 128, so that tiles of keys start at multiples of 128 in both.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "rapt/kernels/attention.h"

namespace rapt::kernels::attn {

inline constexpr size_t kKeyTile = 128;   // keys in a step of the online softmax: part of the bits
inline constexpr size_t kKeyChunk = 512;  // keys whose dK and dV one task owns: part of the bits
inline constexpr size_t kBlock = 64;      // queries, keys in a block of backward: part of the bits
inline constexpr size_t kQueryTile =
    512;  // queries of a task of forward at most: no part of the bits
inline constexpr size_t kRowQueries = 4;  // up to these many go through attention_rows-inl.h
// Up to these many go through attention_heads-inl.h, where keys are interleaved.
inline constexpr size_t kHeadsQueries = 16;

inline constexpr float kLog2E = 1.44269504088896341f;
inline constexpr float kHidden = -1e30f;  // the score of a hidden key
inline constexpr float kFloor = -1e29f;   // the maximum of a row that has seen no key

// The keys that query row i sees: coordinates i + low … i + high, of those that exist.
struct KeyRange {
  explicit KeyRange(const AttentionSequence& s)
      : base(static_cast<uint32_t>(s.key_position / kKeyTile * kKeyTile)),
        begin(s.key_position - base),
        end(begin + s.keys),
        low(s.band.first + int64_t{s.query_position} - base),
        high(s.band.last + int64_t{s.query_position} - base) {}

  // The first that any of the queries query, query + 1, … sees, and the one after the last that any
  // of the queries up to `last` sees.
  size_t first(size_t query) const { return clip(static_cast<int64_t>(query) + low); }
  size_t stop(size_t last) const { return clip(static_cast<int64_t>(last) + high + 1); }
  // Whether each of the keys [key, key_end) is visible to each of the queries [query, last].
  bool all(size_t query, size_t last, size_t key, size_t key_end) const {
    return key >= begin && key_end <= end &&
           static_cast<int64_t>(last) + low <= static_cast<int64_t>(key) &&
           static_cast<int64_t>(query) + high >= static_cast<int64_t>(key_end) - 1;
  }
  // Where the sums of a query begin: key j joins chain j mod 8, so at a multiple of 8.
  size_t first_chain(size_t query) const { return first(query) / 8 * 8; }
  // Whether any of the queries [query, query + rows) has sums that one of the keys [key, key_end)
  // joins.
  bool any(size_t query, size_t rows, size_t key, size_t key_end) const {
    return first_chain(query) < key_end && stop(query + rows - 1) > key;
  }
  bool has_edge() const { return high < static_cast<int64_t>(end) - 1; }

  uint32_t base;      // absolute position of coordinate 0
  size_t begin, end;  // coordinates of the keys that exist
  int64_t low, high;

 private:
  size_t clip(int64_t j) const {
    return static_cast<size_t>(
        std::clamp(j, static_cast<int64_t>(begin), static_cast<int64_t>(end)));
  }
};

// The blocks of queries, from `first` up to `last`, that see one of the keys [begin, end).
struct LiveBlocks {
  size_t first = 0, last = 0;
  LiveBlocks(const KeyRange& range, size_t queries, size_t begin, size_t end) {
    for (size_t query = 0, b = 0; query < queries; query += kBlock, ++b) {
      if (!range.any(query, std::min(kBlock, queries - query), begin, end)) continue;
      if (last == 0) first = b;
      last = b + 1;
    }
  }
};

// Rows of K or V by coordinate.
struct KeyRows {
  const float* base;  // the head's part of row 0
  size_t stride, begin;
  const int32_t* slots;
  size_t step;  // floats between two elements of a row

  const float* row(size_t j) const {
    const size_t r = j - begin;
    return base + (slots == nullptr ? r : static_cast<size_t>(slots[r])) * stride;
  }
  // Whether the keys [first, last) are rows that follow one another in memory.
  bool adjacent(size_t first, size_t last) const {
    if (step != 1) return false;
    if (slots == nullptr) return true;
    for (size_t j = first + 1; j < last; ++j) {
      if (slots[j - begin] != slots[j - begin - 1] + 1) return false;
    }
    return true;
  }
};

inline KeyRows key_rows(const Attention& a, const AttentionSequence& s, size_t kv_head) {
  return {s.k + kv_head * a.k.head, a.k.row, s.key_position % kKeyTile, s.slots, a.k_step};
}
inline KeyRows value_rows(const Attention& a, const AttentionSequence& s, size_t kv_head) {
  return {s.v + kv_head * a.v.head, a.v.row, s.key_position % kKeyTile, s.slots, 1};
}

}  // namespace rapt::kernels::attn

// Which keys a query sees, by positions alone: a band of the matrix of scores. Everything else is
// an additive bias (minus infinity hides a key; bool_mask.h makes one from a mask by hand); keys
// beyond a sentence do not exist, for there is no padding. Query i and key j are absolute positions
// in their sentences.
#pragma once
#include <algorithm>
#include <cstdint>

#include "rapt/kernels/attention.h"

namespace rapt::ops {

// Made by name only, so that no one can mistake which corner a causal mask hangs on:
//   top-left       key j is visible to query i when j <= i: positions are of one sentence, the first
//                  query is the first key. Right for self-attention, also with a cache.
//   bottom-right   the last query sees the last key, those before it one key less each: for queries
//                  that are the end of a longer sequence of keys, both counted from 0.
// They differ only where the numbers of queries and keys do.
class Band {
 public:
  static constexpr Band none() { return {-kOpen, kOpen, false}; }
  static constexpr Band causal_top_left() { return {-kOpen, 0, false}; }
  static constexpr Band causal_bottom_right() { return {-kOpen, 0, true}; }
  // Keys i - before … i + after. A causal window has after = 0.
  static constexpr Band window(uint32_t before, uint32_t after) {
    return {-int64_t{before}, int64_t{after}, false};
  }
  static constexpr Band window_bottom_right(uint32_t before, uint32_t after) {
    return {-int64_t{before}, int64_t{after}, true};
  }

  // Of these keys those at most `distance` from the diagonal, on either side: a sliding window.
  constexpr Band within(uint32_t distance) const {
    return {std::max(first_, -int64_t{distance}), std::min(last_, int64_t{distance}),
            bottom_right_};
  }

  bool operator==(const Band&) const = default;

  // For queries and keys that end before these absolute positions.
  constexpr kernels::AttentionBand between(uint32_t query_end, uint32_t key_end) const {
    const int64_t shift = bottom_right_ ? int64_t{key_end} - int64_t{query_end} : 0;
    return {first_ + shift, last_ + shift};
  }

 private:
  static constexpr int64_t kOpen = kernels::AttentionBand::kOpen;
  constexpr Band(int64_t first, int64_t last, bool bottom_right)
      : first_(first), last_(last), bottom_right_(bottom_right) {}
  int64_t first_, last_;  // visible: first <= j - i <= last
  bool bottom_right_;
};

}  // namespace rapt::ops

// Memory requested ahead of its use. The heads of a short sequence are narrow strips of far rows,
// which no prefetcher of the CPU follows: without help a task waits for memory as long as it
// computes. All requests at once would fill the queue of misses and stop the computation that should
// hide them, so they go out a few at a time, between the register tiles.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>

#include "rapt/kernels/attention_keys-inl.h"

namespace rapt::kernels::attn {

// The rows that are read or written next, by a later task or by this one.
class Prefetch {
 public:
  // Where a later task comes down to one tile; that of a long sequence requests its own keys.
  static bool pays(const AttentionSequence& s) {
    return s.queries <= kQueryTile && s.keys <= kQueryTile && s.slots == nullptr;
  }
  void forward(const Attention& a, const AttentionSequence& s, size_t head) {
    const size_t kv_head = head / a.group();
    add({s.q + head * a.q.head, a.q.row, s.queries, a.dim});
    add({s.k + kv_head * a.k.head, a.k.row, s.keys, a.dim});
    add({s.v + kv_head * a.v.head, a.v.row, s.keys, a.dim_v});
    add({s.out + head * a.out.head, a.out.row, s.queries, a.dim_v});
  }
  void backward(const Attention& a, const AttentionSequence& s, const AttentionGrad& grad,
                size_t head) {
    const size_t kv_head = head / a.group();
    forward(a, s, head);
    add({grad.dout + head * a.out.head, a.out.row, s.queries, a.dim_v});
    add({grad.dq + head * a.q.head, a.q.row, s.queries, a.dim});
    add({grad.dk + kv_head * a.k.head, a.k.row, s.keys, a.dim});
    add({grad.dv + kv_head * a.v.head, a.v.row, s.keys, a.dim_v});
  }
  // The keys [first, last), where they follow one another.
  void keys(const Attention& a, const KeyRows& k, const KeyRows& v, size_t first, size_t last) {
    if (first < k.begin || first >= last || k.slots != nullptr) return;
    add({k.row(first), k.stride, last - first, a.dim});
    add({v.row(first), v.stride, last - first, a.dim_v});
  }

  // Requests the next rows, into L2.
  void step() {
    for (size_t lines = 0; lines < kLinesAStep && next_ < count_;) {
      Strip& s = strips_[next_];
      const size_t a_row = (s.width + kLine - 1) / kLine,
                   rows = std::min(s.rows, (kLinesAStep - lines + a_row - 1) / a_row);
      for (size_t r = 0; r < rows; ++r, s.x += s.stride) {
        for (size_t i = 0; i < s.width; i += kLine) __builtin_prefetch(s.x + i, 0, 2);
      }
      lines += rows * a_row;
      s.rows -= rows;
      if (s.rows == 0) ++next_;
    }
  }

 private:
  struct Strip {
    const float* x;
    size_t stride, rows, width;
  };
  static constexpr size_t kLine = 16;  // floats
  // Measured: with 32 the rows of the next task are not all there in time, 128 stop this one.
  static constexpr size_t kLinesAStep = 64;

  void add(const Strip& strip) {
    if (strip.rows > 0 && strip.width > 0) strips_[count_++] = strip;
  }

  size_t count_ = 0, next_ = 0;
  std::array<Strip, 8> strips_;
};

// The keys and values, of all heads, that the next sequence of a batch that is decoded reads: rows
// of slots, in any order, or those of a source.
class PrefetchSlots {
 public:
  PrefetchSlots() = default;
  PrefetchSlots(const Attention& a, const AttentionSequence& s)
      : k_(key_rows(a, s, 0)),
        v_(value_rows(a, s, 0)),
        k_end_(a.kv_heads * a.dim),
        v_end_(a.kv_heads * a.dim_v),
        row_(k_.begin),
        rows_end_(k_.begin + s.keys) {}

  // Requests the next line, into L2.
  void step() {
    if (row_ == rows_end_) return;
    const bool of_keys = column_ < k_end_;
    const float* p = of_keys ? k_.row(row_) + column_ : v_.row(row_) + (column_ - k_end_);
    __builtin_prefetch(p, 0, 2);
    column_ += kLine;
    if (column_ >= k_end_ + v_end_) column_ = 0, ++row_;
  }

 private:
  static constexpr size_t kLine = 16;  // floats
  KeyRows k_{}, v_{};
  size_t k_end_ = 0, v_end_ = 0, column_ = 0, row_ = 0, rows_end_ = 0;
};

}  // namespace rapt::kernels::attn

// Memory requested ahead of its use. The heads of a short sequence are narrow strips of far rows,
// which no prefetcher of the CPU follows: without help a task waits for memory as long as it
// computes. All requests at once would fill the queue of misses and stop the computation that should
// hide them, so they are spread evenly over the register tiles.
#pragma once
#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>

#include "rapt/kernels/attention_keys-inl.h"

namespace rapt::kernels::attn {

// The rows that are read or written next, by a later task or by this one.
class Prefetch {
 public:
  // What a task of forward begins with: the queries [query, query + rows), their first tile of keys
  // and, if that is their only one, the rows of the result.
  void forward(const Attention& a, const AttentionSequence& s, size_t head, size_t query,
               size_t rows) {
    const KeyRange range(s);
    const size_t tile = range.first(query) / kKeyTile * kKeyTile;
    const size_t stop = range.stop(query + rows - 1), kv_head = head / a.group();
    add({s.q + head * a.q.head + query * a.q.row, a.q.row, rows, a.dim});
    keys(a, key_rows(a, s, kv_head), value_rows(a, s, kv_head), std::max(tile, range.begin),
         std::min(stop, tile + kKeyTile));
    if (stop <= tile + kKeyTile) out(a, s, head, query, rows);
  }
  void out(const Attention& a, const AttentionSequence& s, size_t head, size_t query, size_t rows) {
    add({s.out + head * a.out.head + query * a.out.row, a.out.row, rows, a.dim_v});
  }
  // What a task of backward begins with: a chunk of keys and the first block of queries that sees
  // one.
  void backward(const Attention& a, const AttentionSequence& s, const AttentionGrad& grad,
                size_t kv_head, size_t chunk) {
    const KeyRange range(s);
    const size_t first = std::max(chunk, range.begin),
                 last = std::min(chunk + kKeyChunk, range.end);
    const LiveBlocks live(range, s.queries, first, last);
    if (live.last == 0) return;
    keys(a, key_rows(a, s, kv_head), value_rows(a, s, kv_head), first, last);
    queries(a, s, grad, kv_head * a.group(), live.first * kBlock);
    if (s.queries <= kBlock) gradients(a, s, grad, kv_head, first, last);
  }
  // A block of queries, with all that backward reads and writes of them.
  void queries(const Attention& a, const AttentionSequence& s, const AttentionGrad& grad,
               size_t head, size_t query) {
    const size_t rows = std::min<size_t>(kBlock, s.queries - query);
    const size_t q = head * a.q.head + query * a.q.row;
    add({s.q + q, a.q.row, rows, a.dim});
    add({grad.dq + q, a.q.row, rows, a.dim});
    add({grad.dout + head * a.out.head + query * a.out.row, a.out.row, rows, a.dim_v});
    out(a, s, head, query, rows);
  }
  // Where the gradients of the keys [first, last) belong.
  void gradients(const Attention& a, const AttentionSequence& s, const AttentionGrad& grad,
                 size_t kv_head, size_t first, size_t last) {
    if (first >= last) return;
    const size_t row = first - KeyRange(s).begin;
    add({grad.dk + kv_head * a.k.head + row * a.k.row, a.k.row, last - first, a.dim});
    add({grad.dv + kv_head * a.v.head + row * a.v.row, a.v.row, last - first, a.dim_v});
  }
  // The keys [first, last), where they follow one another.
  void keys(const Attention& a, const KeyRows& k, const KeyRows& v, size_t first, size_t last) {
    if (first < k.begin || first >= last || k.slots != nullptr) return;
    add({k.row(first), k.stride, last - first, a.dim});
    add({v.row(first), v.stride, last - first, a.dim_v});
  }

  // What is requested behind all of this.
  void append(const Prefetch& later) {
    for (size_t i = later.next_; i < later.count_; ++i) add(later.strips_[i]);
  }
  // Spreads the requests over so many steps, and leaves the last of them time to arrive.
  void pace(size_t steps) {
    size_t lines = 0;
    for (size_t i = next_; i < count_; ++i) lines += strips_[i].rows * lines_of(strips_[i]);
    lines_a_step_ = lines * 5 / (4 * std::max<size_t>(steps, 1)) + 1;
  }
  // Requests the next rows, into L2.
  void step() {
    for (size_t lines = 0; lines < lines_a_step_ && next_ < count_;) {
      Strip& s = strips_[next_];
      const size_t a_row = lines_of(s),
                   rows = std::min(s.rows, (lines_a_step_ - lines + a_row - 1) / a_row);
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
  static size_t lines_of(const Strip& s) { return (s.width + kLine - 1) / kLine; }

  void add(const Strip& strip) {
    if (strip.rows == 0 || strip.width == 0) return;
    assert(count_ < strips_.size());
    strips_[count_++] = strip;
  }

  size_t count_ = 0, next_ = 0, lines_a_step_ = 0;
  // At most those of backward: gradients of the keys of this task; keys, queries and gradients of
  // the next one.
  std::array<Strip, 2 + 2 + 4 + 2> strips_;
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

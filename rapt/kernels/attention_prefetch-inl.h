// Memory requested ahead of its use. The heads of a short sequence are narrow strips of far rows,
// which no prefetcher of the CPU follows: without help a task waits for memory as long as it
// computes.
#pragma once
#include <array>
#include <cstddef>

#include "rapt/kernels/attention_keys-inl.h"

namespace rapt::kernels::attn {

// The rows that a later task reads or writes. They are requested a few at a time, between the
// register tiles of this one: all at once would fill the queue of misses and stop it.
class Prefetch {
 public:
  // Where a later task comes down to one tile; that of a long sequence hides its misses itself.
  static bool pays(const AttentionSequence& s) {
    return s.queries <= kQueryTile && s.keys <= kQueryTile && s.slots == nullptr;
  }
  void add(const float* x, size_t stride, size_t rows, size_t width) {
    if (rows > 0) strips_[count_++] = {x, stride, rows, width};
  }
  void forward(const Attention& a, const AttentionSequence& s, size_t head) {
    const size_t kv_head = head / a.group();
    add(s.q + head * a.q.head, a.q.row, s.queries, a.dim);
    add(s.k + kv_head * a.k.head, a.k.row, s.keys, a.dim);
    add(s.v + kv_head * a.v.head, a.v.row, s.keys, a.dim_v);
    add(s.out + head * a.out.head, a.out.row, s.queries, a.dim_v);
  }
  void backward(const Attention& a, const AttentionSequence& s, const AttentionGrad& grad,
                size_t head) {
    const size_t kv_head = head / a.group();
    forward(a, s, head);
    add(grad.dout + head * a.out.head, a.out.row, s.queries, a.dim_v);
    add(grad.dq + head * a.q.head, a.q.row, s.queries, a.dim);
    add(grad.dk + kv_head * a.k.head, a.k.row, s.keys, a.dim);
    add(grad.dv + kv_head * a.v.head, a.v.row, s.keys, a.dim_v);
  }

  // Requests the next rows, into L2.
  void step() {
    for (size_t lines = 0; lines < kLinesAStep && next_ < count_;) {
      Strip& s = strips_[next_];
      for (size_t i = 0; i < s.width; i += kLine, ++lines) __builtin_prefetch(s.x + i, 0, 2);
      s.x += s.stride;
      if (--s.rows == 0) ++next_;
    }
  }

 private:
  static constexpr size_t kLine = 16;  // floats
  // Measured: with 32 the rows of the next task are not all there in time, 128 stop this one.
  static constexpr size_t kLinesAStep = 64;
  struct Strip {
    const float* x;
    size_t stride, rows, width;
  };
  std::array<Strip, 8> strips_;
  size_t count_ = 0, next_ = 0;
};

}  // namespace rapt::kernels::attn

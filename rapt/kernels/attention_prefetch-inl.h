// Memory requested ahead of its use. The heads of a short sequence are narrow strips of far rows,
// which no prefetcher of the CPU follows: without help a task waits for memory as long as it
// computes.
#pragma once
#include <cstddef>

#include "rapt/kernels/attention_keys-inl.h"
#include "rapt/kernels/prefetch.h"

namespace rapt::kernels::attn {

// The rows that are read or written next, by a later task or by this one, requested between the
// register tiles.
class Prefetch : public StripPrefetch {
 public:
  Prefetch() : StripPrefetch(kLinesAStep) {}
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

 private:
  // Measured: with 32 the rows of the next task are not all there in time, 128 stop this one.
  static constexpr size_t kLinesAStep = 64;
};

}  // namespace rapt::kernels::attn

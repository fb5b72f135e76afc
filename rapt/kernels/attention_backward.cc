#include <atomic>
#include <thread>

#include "rapt/kernels/attention.h"
#include "rapt/kernels/attention_keys-inl.h"
#include "rapt/kernels/attention_plan-inl.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rapt/kernels/attention_backward.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "rapt/kernels/attention_gradient-inl.h"

#ifndef RAPT_KERNELS_ATTENTION_BACKWARD_ONCE
#define RAPT_KERNELS_ATTENTION_BACKWARD_ONCE
namespace rapt::kernels::attn {

// dQ receives the chunks of keys in order. `own` counts the blocks of queries that a chunk is done
// with: the next chunk may add to those. The pool starts tasks in order, so a chunk never waits for
// one that has not started.
class Turn {
 public:
  Turn(uint32_t* previous, uint32_t* own) : previous_(previous), own_(own) {}
  bool is_first() const { return previous_ == nullptr; }
  void wait(size_t blocks) const {
    if (is_first()) return;
    const std::atomic_ref<uint32_t> done(*previous_);
    for (int spin = 0; done.load(std::memory_order_acquire) < blocks; ++spin) {
      if (spin >= 1000) std::this_thread::yield();
    }
  }
  void pass(size_t blocks) const {
    std::atomic_ref<uint32_t>(*own_).store(static_cast<uint32_t>(blocks),
                                           std::memory_order_release);
  }

 private:
  uint32_t* previous_;  // null for the first chunk
  uint32_t* own_;
};

}  // namespace rapt::kernels::attn
#endif

HWY_BEFORE_NAMESPACE();
namespace rapt::kernels::HWY_NAMESPACE {
namespace attn {

// Owns dK and dV of one chunk of keys of one key-value head, for all the query heads that read it.
class BackwardChunk {
 public:
  BackwardChunk(const Attention& a, const AttentionSequence& s, const AttentionGrad& grad,
                size_t kv_head, size_t chunk, const Prefetch& ahead, float* memory)
      : a_(a),
        s_(s),
        grad_(grad),
        kv_head_(kv_head),
        chunk_(chunk),
        ahead_(ahead),
        width_(round_up(a.dim, kLanes)),
        width_v_(round_up(a.dim_v, kLanes)),
        scratch_(memory),
        block_(a, s, grad, scratch_),
        k_(key_rows(a, s, kv_head)),
        v_(value_rows(a, s, kv_head)) {
    begin_ = std::max(chunk, block_.range().begin);
    end_ = std::min(chunk + kKeyChunk, block_.range().end);
    dk_ = scratch_.take(kKeyChunk * width_);
    dv_ = scratch_.take(kKeyChunk * width_v_);
    dq_ = scratch_.take(kBlock * width_);
    q_copy_ = scratch_.take(kBlock * width_);
    do_copy_ = scratch_.take(kBlock * width_v_);
    k_copy_ = scratch_.take(kKeyChunk * width_);
    v_copy_ = scratch_.take(kKeyChunk * width_v_);
  }
  static size_t scratch_floats(const Attention& a) {
    const size_t width = round_up(a.dim, 16), width_v = round_up(a.dim_v, 16);
    return GradientBlock::scratch_floats(a) + 2 * kKeyChunk * (width + width_v) +
           kBlock * (2 * width + width_v) + 16 * 16;
  }

  void run(rapt::kernels::attn::Turn turn) {
    if (is_one_block()) return run_one_block();
    const size_t blocks = (s_.queries + kBlock - 1) / kBlock;
    std::fill_n(dk_, (end_ - std::min(chunk_, end_)) * width_, 0.0f);
    std::fill_n(dv_, (end_ - std::min(chunk_, end_)) * width_v_, 0.0f);
    const LiveBlocks live(block_.range(), s_.queries, begin_, end_);
    if (live.last > 0) stage_keys();
    for (size_t g = 0; g < a_.group(); ++g) {
      const size_t head = kv_head_ * a_.group() + g;
      block_.set_head(head);
      float dsink = 0.0f;
      for (size_t b = 0; b < blocks; ++b) {
        const size_t query = b * kBlock, rows = std::min<size_t>(kBlock, s_.queries - query);
        block_.set_rows(query, rows);
        if (a_.sink != nullptr && turn.is_first()) dsink += block_.sink_gradient();
        const bool alive = live.first <= b && b < live.last;
        if (alive) add_block(rows, requests(g, b, live));
        if (!alive && !turn.is_first()) continue;
        turn.wait(g * blocks + b + 1);
        write_dq(head, query, rows, alive, turn.is_first());
        turn.pass(g * blocks + b + 1);
      }
      if (a_.sink != nullptr && turn.is_first()) grad_.dsink[head] = dsink;
    }
    // Blocks that this chunk skipped are done when the chunks before are done with them.
    turn.wait(a_.group() * blocks);
    turn.pass(a_.group() * blocks);
    write_keys();
  }

 private:
  // Whether one block of queries, which see all keys of one block, is all there is: most sentences.
  bool is_one_block() const {
    const KeyRange& range = block_.range();
    const size_t queries = s_.queries;
    const bool whole_vectors = width_ == a_.dim && width_v_ == a_.dim_v;
    return whole_vectors && a_.group() == 1 && 0 < queries && queries <= kBlock &&
           range.begin < range.end && range.end <= range.begin + kBlock && range.begin % 8 == 0 &&
           range.first(0) == range.begin && range.stop(queries - 1) == range.end;
  }
  // Its results go where they belong: nothing is added to them.
  void run_one_block() {
    const size_t head = kv_head_, rows = s_.queries;
    block_.set_head(head);
    block_.set_rows(0, rows);
    if (a_.sink != nullptr) grad_.dsink[head] = block_.sink_gradient();
    block_.pack_rows();
    stage_keys();
    Prefetch next = ahead_;
    next.pace(steps(rows, end_ - begin_));
    const float one = 1.0f;
    multiply(begin_, end_, stage_q(rows), stage_dout(rows), next,
             {grad_.dv + head * a_.v.head, a_.v.row, &one},
             {grad_.dk + head * a_.k.head, a_.k.row, &a_.scale},
             {grad_.dq + head * a_.q.head, a_.q.row, &a_.scale});
  }

  // What is needed behind block b of the g-th head: the next block or, in the end, the rows of the
  // gradients of the keys and what the next task needs.
  Prefetch requests(size_t g, size_t b, const LiveBlocks& live) const {
    Prefetch next;
    const size_t head = kv_head_ * a_.group() + g;
    if (b + 1 < live.last) {
      next.queries(a_, s_, grad_, head, (b + 1) * kBlock);
    } else if (g + 1 < a_.group()) {
      next.queries(a_, s_, grad_, head + 1, live.first * kBlock);
    } else {
      if (s_.queries > kBlock) next.gradients(a_, s_, grad_, kv_head_, begin_, end_);
      next.append(ahead_);
    }
    return next;
  }

  void add_block(size_t rows, Prefetch ahead) {
    block_.pack_rows();
    const Rows q = stage_q(rows), dout = stage_dout(rows);
    std::fill_n(dq_, rows * width_, 0.0f);
    const size_t first = std::max(chunk_, block_.first()), end = std::min(end_, block_.stop());
    ahead.pace(steps(rows, end - first));
    for (size_t key = first; key < end; key += kBlock) {
      const size_t to = key - chunk_;
      multiply(key, std::min(key + kBlock, end), q, dout, ahead, {dv_ + to * width_v_, width_v_},
               {dk_ + to * width_, width_}, {dq_, width_});
    }
  }
  // Register tiles of the five products.
  size_t steps(size_t rows, size_t keys) const {
    const size_t vecs = width_ / kLanes, vecs_v = width_v_ / kLanes;
    return 2 * register_tiles(keys, vectors(rows)) + register_tiles(keys, vecs) +
           register_tiles(keys, vecs_v) + (keys + kBlock - 1) / kBlock * register_tiles(rows, vecs);
  }

  // The rows of the queries against the keys [key, last).
  void multiply(size_t key, size_t last, Rows q, Rows dout, Prefetch& ahead, Accumulate dv,
                Accumulate dk, Accumulate dq) {
    const size_t keys = last - key, rows = block_.rows();
    const Rows k = k_staged_.from(key - chunk_), v = v_staged_.from(key - chunk_);
    block_.run(key, keys, k, v, true, ahead);
    const size_t vecs = width_ / kLanes, vecs_v = width_v_ / kLanes;
    product<false>(keys, vecs_v, block_.p(), kBlock, dout.data, dout.stride, rows,
                   Prefetching{dv, ahead});
    product<false>(keys, vecs, block_.ds(), kBlock, q.data, q.stride, rows, Prefetching{dk, ahead});
    product<true>(rows, vecs, block_.ds(), kBlock, k.data, k.stride, keys, Prefetching{dq, ahead});
  }
  // All keys of the chunk, once: every block of queries reads them.
  void stage_keys() {
    const size_t keys = end_ - std::min(chunk_, end_);
    const bool copy_k = is_far(a_.k.row, a_.dim, keys) || a_.dim % kLanes != 0;
    k_staged_ = stage(k_, chunk_, end_, a_.dim, copy_k, k_copy_);
    // V is read row by row: measured, as fast where it is unless more than 8 heads lie in a row.
    const bool copy_v = a_.v.row > 8 * a_.dim_v && keys > 16;
    v_staged_ = stage(v_, chunk_, end_, a_.dim_v, copy_v, v_copy_);
  }
  Rows stage_q(size_t rows) {
    const bool copy = is_far(a_.q.row, a_.dim, rows) || a_.dim % kLanes != 0;
    return stage(block_.q(), a_.q.row, rows, a_.dim, copy, q_copy_);
  }
  Rows stage_dout(size_t rows) {
    const bool copy = is_far(a_.out.row, a_.dim_v, rows) || a_.dim_v % kLanes != 0;
    return stage(block_.dout(), a_.out.row, rows, a_.dim_v, copy, do_copy_);
  }

  void write_dq(size_t head, size_t query, size_t rows, bool alive, bool is_first) {
    for (size_t r = 0; r < rows; ++r) {
      float* to = grad_.dq + head * a_.q.head + (query + r) * a_.q.row;
      const float* from = dq_ + r * width_;
      if (!alive) {
        std::fill_n(to, a_.dim, 0.0f);
      } else if (is_first) {
        for (size_t d = 0; d < a_.dim; ++d) to[d] = a_.scale * from[d];
      } else {
        for (size_t d = 0; d < a_.dim; ++d) to[d] += a_.scale * from[d];
      }
    }
  }

  void write_keys() {
    float* dk = grad_.dk + kv_head_ * a_.k.head;
    float* dv = grad_.dv + kv_head_ * a_.v.head;
    for (size_t j = begin_; j < end_; ++j) {
      const size_t row = j - block_.range().begin;
      const float *from = dk_ + (j - chunk_) * width_, *from_v = dv_ + (j - chunk_) * width_v_;
      for (size_t d = 0; d < a_.dim; ++d) dk[row * a_.k.row + d] = a_.scale * from[d];
      std::copy_n(from_v, a_.dim_v, dv + row * a_.v.row);
    }
  }

  const Attention& a_;
  const AttentionSequence& s_;
  const AttentionGrad& grad_;
  const size_t kv_head_, chunk_;
  const Prefetch& ahead_;
  const size_t width_, width_v_;
  Scratch scratch_;
  GradientBlock block_;
  const KeyRows k_, v_;
  size_t begin_, end_;
  Rows k_staged_{}, v_staged_{};  // from key chunk_ on
  float *dk_, *dv_, *dq_, *q_copy_, *do_copy_, *k_copy_, *v_copy_;
};

}  // namespace attn

size_t ChunkScratch(const Attention& a) { return attn::BackwardChunk::scratch_floats(a); }
void Chunk(const Attention& a, const AttentionSequence& s, const AttentionGrad& grad,
           size_t kv_head, size_t chunk, rapt::kernels::attn::Turn turn,
           const rapt::kernels::attn::Prefetch& ahead, float* memory) {
  attn::BackwardChunk(a, s, grad, kv_head, chunk, ahead, memory).run(turn);
}

size_t BiasScratch(const Attention& a) {
  const size_t width = attn::round_up(a.dim, 16), width_v = attn::round_up(a.dim_v, 16);
  return attn::GradientBlock::scratch_floats(a) + attn::kBlock * (width + width_v) + 16 * 16;
}
// Adds dS of one sequence and head, queries [query, query + rows), to its part of dbias.
void BiasBlock(const Attention& a, const AttentionSequence& s, const AttentionGrad& grad,
               size_t head, size_t query, size_t rows, float* dbias, float* memory) {
  using namespace attn;  // NOLINT: short names for what this file is about
  Scratch scratch(memory);
  GradientBlock block(a, s, grad, scratch);
  Prefetch none;
  float* k_copy = scratch.take(kBlock * round_up(a.dim, kLanes));
  float* v_copy = scratch.take(kBlock * round_up(a.dim_v, kLanes));
  const KeyRows k_rows = key_rows(a, s, head / a.group()),
                v_rows = value_rows(a, s, head / a.group());
  block.set_head(head);
  block.set_rows(query, rows);
  block.pack_rows();
  const KeyRange& range = block.range();
  for (size_t key = block.first(); key < block.stop(); key += kBlock) {
    const size_t last = std::min(key + kBlock, block.stop());
    const Rows k = stage(k_rows, key, last, a.dim, false, k_copy);
    const Rows v = stage(v_rows, key, last, a.dim_v, false, v_copy);
    block.run(key, last - key, k, v, false, none);
    const size_t from = std::max(key, range.begin);
    for (size_t r = 0; r < rows; ++r) {
      float* to = dbias + (s.query_position + query + r) * a.bias.row + range.base;
      for (size_t j = from; j < last; ++j) to[j] += block.ds()[(j - key) * kBlock + r];
    }
  }
}

}  // namespace rapt::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rapt::kernels {
HWY_EXPORT(ChunkScratch);
HWY_EXPORT(Chunk);
HWY_EXPORT(BiasScratch);
HWY_EXPORT(BiasBlock);

namespace {
size_t chunks(const AttentionSequence& s) {
  const size_t end = attn::KeyRange(s).end;
  return std::max<size_t>(1, (end + attn::kKeyChunk - 1) / attn::kKeyChunk);
}
}  // namespace

size_t attention_plan_size(const Attention& a, std::span<const AttentionSequence> sequences) {
  size_t tasks = 0;
  for (const AttentionSequence& s : sequences) tasks += a.kv_heads * chunks(s);
  return sequences.size() + 1 + tasks;
}

void attention_backward(const Attention& a, std::span<const AttentionSequence> sequences,
                        std::span<const AttentionGrad> grads, std::span<uint32_t> memory,
                        Pool& pool) {
  const attn::Plan plan(memory, sequences.size(),
                        [&](size_t s) { return a.kv_heads * chunks(sequences[s]); });
  const std::span<uint32_t> done = memory.subspan(sequences.size() + 1, plan.tasks());
  std::fill(done.begin(), done.end(), 0);
  const auto run_chunk = HWY_DYNAMIC_DISPATCH(Chunk);
  pool.run(plan.tasks(), HWY_DYNAMIC_DISPATCH(ChunkScratch)(a), [&](size_t task, float* scratch) {
    const auto [s, n] = plan.find(task);
    const size_t count = chunks(sequences[s]), chunk = n % count;
    const attn::Turn turn(chunk == 0 ? nullptr : &done[task - 1], &done[task]);
    attn::Prefetch ahead;
    if (const size_t next = task + pool.threads(); next < plan.tasks()) {
      const auto [then, m] = plan.find(next);
      const size_t of_head = chunks(sequences[then]);
      ahead.backward(a, sequences[then], grads[then], m / of_head, m % of_head * attn::kKeyChunk);
    }
    run_chunk(a, sequences[s], grads[s], n / count, chunk * attn::kKeyChunk, turn, ahead, scratch);
  });
}

void attention_bias_backward(const Attention& a, std::span<const AttentionSequence> sequences,
                             std::span<const AttentionGrad> grads, std::span<float* const> dbias,
                             Pool& pool) {
  size_t end = 0;  // of the absolute positions
  for (const AttentionSequence& s : sequences) {
    end = std::max<size_t>(end, size_t{s.query_position} + s.queries);
  }
  const size_t blocks = (end + attn::kBlock - 1) / attn::kBlock;
  const size_t shared = a.bias.head == 0 ? a.heads : 1;  // heads that add to the same gradient
  const auto run_block = HWY_DYNAMIC_DISPATCH(BiasBlock);
  // A task owns a block of rows, by absolute position, of one head of the gradients.
  const size_t floats = HWY_DYNAMIC_DISPATCH(BiasScratch)(a);
  pool.run(a.heads / shared * blocks, floats, [&](size_t task, float* scratch) {
    const size_t first = task / blocks * shared, begin = task % blocks * attn::kBlock;
    for (size_t s = 0; s < sequences.size(); ++s) {
      const AttentionSequence& sequence = sequences[s];
      const size_t position = sequence.query_position;
      const size_t from = std::max(begin, position);
      const size_t to = std::min(begin + attn::kBlock, position + sequence.queries);
      for (size_t head = first; head < first + shared && from < to; ++head) {
        run_block(a, sequence, grads[s], head, from - position, to - from,
                  dbias[s] + head * a.bias.head, scratch);
      }
    }
  });
}

}  // namespace rapt::kernels
#endif

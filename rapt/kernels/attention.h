// Exact float32 scaled dot-product attention with online softmax (Vaswani et al., 2017; Milakov and
// Gimelshein, 2018; Dao, 2023), forward and backward, over ragged sequences. No n x m matrix is
// ever stored. Derivation in docs/math/attention.md. Per sequence and head, i a query, j a key:
//   S  = cap(scale * Q K^T) + bias - slope |i - j|      cap(x) = softcap * tanh(x / softcap)
//   P  = softmax of S over the visible keys             O   = dropout(P) V
//   dV = dropout(P)^T dO        dP = dropout'(dO V^T)   dS  = P * (dP - rowsum(O * dO))
//   dQ = scale * dS' K          dK = scale * dS'^T Q    dbias = dS       dS' = dS * cap'(scale Q K^T)
// A sink adds exp(sink) to the denominator of the softmax (Xiao et al., 2023), slopes are ALiBi's
// (Press et al., 2021). A row without a visible key gives O = 0, lse = -inf and zero gradients.
//
// The bits of a row depend on that row, its keys and their absolute positions alone: not on the
// threads, the other sequences, the number of rows computed together, nor on which keys came out of
// a cache; and they are equal on all CPUs with fused multiply-add. The order, for finite inputs:
//   q' = q * (scale * log2 e), one rounding; score = one fma chain over dim; then cap, bias (fma by
//   log2 e), slope (fma). Keys in tiles of 128 from absolute position 0. The running maximum is
//   rounded up to an integer, so that decay = 2^(old - new) is exact. Sum of a tile: key j joins
//   chain j mod 8, then ((0+4)+(2+6))+((1+5)+(3+7)); sum = fma(sum, decay, tile);
//   O = fma(O, decay, fma chain over the tile's keys); at the end O * (dropout scale / sum).
//   Backward: delta = rowsum(O * dO) over 32 lanes, folded by halves. Chunks of 512 keys own dK and
//   dV, which add blocks of 64 queries in order, query head after query head; dQ adds blocks of 64
//   keys into its chunk, then chunk after chunk. Each block is one fma chain.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "rapt/base/matrix_view.h"
#include "rapt/base/philox.h"
#include "rapt/parallel/pool.h"

namespace rapt::kernels {

// Key j is visible to query i when first <= j - i <= last, both absolute positions.
struct AttentionBand {
  static constexpr int64_t kOpen = int64_t{1} << 40;
  int64_t first = -kOpen, last = kOpen;
};

struct HeadStride {  // floats between two rows and between two heads
  size_t row = 0, head = 0;
};

// What all sequences of a call share. A gradient has the strides of its tensor.
struct Attention {
  size_t heads = 1, kv_heads = 1;  // query head h reads head h / group() of K and V
  size_t dim = 0, dim_v = 0;       // of Q and K; of V and O
  float scale = 1.0f;
  float softcap = 0.0f;  // 0: none
  HeadStride q, k, v, out;
  // Floats between two elements of a key: 1, or kv_heads where heads are interleaved (k.head is 1).
  size_t k_step = 1;
  HeadStride bias;                // head = 0: one bias for all heads
  size_t lse_stride = 0;          // lse is [heads, rows]: floats between two heads
  const float* slopes = nullptr;  // [heads]
  const float* sink = nullptr;    // [heads]
  DropRate dropout;
  uint64_t dropout_key = 0;  // op_key(seed, Stream::kDropout, site, update)

  size_t group() const { return heads / kv_heads; }
};

// One sequence: pointers to its first row and first head. Absolute positions: query row r stands at
// query_position + r, key row r at key_position + r (more than 0 when a window dropped old keys).
struct AttentionSequence {
  const float *q = nullptr, *k = nullptr, *v = nullptr;
  float* out = nullptr;            // written by forward, read by backward
  float* lse = nullptr;            // log2 of sum 2^(S log2 e), written by forward, read by backward
  const float* bias = nullptr;     // element (0, 0) by absolute positions; -inf hides a key
  const int32_t* slots = nullptr;  // key row r is row slots[r] of k and v; null: row r
  uint64_t id = 0;                 // names the dropout bits together with positions and head
  uint32_t queries = 0, keys = 0;
  uint32_t query_position = 0, key_position = 0;
  AttentionBand band;
};

struct AttentionGrad {  // of one sequence
  const float* dout = nullptr;
  float *dq = nullptr, *dk = nullptr, *dv = nullptr;  // overwritten
  float* dsink = nullptr;                             // [heads], overwritten; needed with a sink
};

// Entries of `plan` that the calls below need: their table of tasks, in the caller's memory.
size_t attention_plan_size(const Attention& a, std::span<const AttentionSequence> sequences);

// Keys of a cache are read fastest with their heads interleaved, where attention_interleaves() says
// so: y(rows[r], d * heads + h) = x(r, h * dim + d). Without `rows` they are 0, 1, …; `heads` is a
// multiple of 4.
bool attention_interleaves(size_t kv_heads, size_t dim_v);
void interleave_heads(MatrixView<const float> x, size_t heads, std::span<const int32_t> rows,
                      MatrixView<float> y);

// Writes out and lse.
void attention_forward(const Attention& a, std::span<const AttentionSequence> sequences,
                       std::span<uint32_t> plan, Pool& pool);

// Writes dq, dk, dv and dsink. Takes no slots, and no interleaved heads.
void attention_backward(const Attention& a, std::span<const AttentionSequence> sequences,
                        std::span<const AttentionGrad> grads, std::span<uint32_t> plan, Pool& pool);

// Accumulates into dbias[s], laid out as the bias of sequence s; equal pointers share one gradient,
// which adds the sequences in order and in each the heads in order. Reads out, lse and dout.
void attention_bias_backward(const Attention& a, std::span<const AttentionSequence> sequences,
                             std::span<const AttentionGrad> grads, std::span<float* const> dbias,
                             Pool& pool);

// Writes P, before dropout, as [heads, queries, keys] of each sequence to weights[s] with
// `head_stride` floats between two heads: what forward gives, to the bit, where V is the identity.
void attention_weights(const Attention& a, std::span<const AttentionSequence> sequences,
                       std::span<float* const> weights, size_t head_stride,
                       std::span<uint32_t> plan, Pool& pool);

}  // namespace rapt::kernels

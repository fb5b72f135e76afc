// Packing for the matrix product, for one SIMD target: panels of op(B), in the order in which the
// micro-kernel reads them, and panels of op(A) that would collide in the cache or lie far apart.
// Include after foreach_target.h.
#if defined(RAPT_KERNELS_GEMM_PACK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RAPT_KERNELS_GEMM_PACK_INL_H_
#undef RAPT_KERNELS_GEMM_PACK_INL_H_
#else
#define RAPT_KERNELS_GEMM_PACK_INL_H_
#endif

#include <cstddef>
#include <cstring>

#include "hwy/cache_control.h"
#include "rapt/kernels/gemm_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rapt::kernels::HWY_NAMESPACE {
namespace product {

#if HWY_TARGET == HWY_SCALAR
HWY_INLINE void transpose_square(const float* from, size_t, float* to, size_t) { *to = *from; }
#else
// Transposes 4 x 4 elements within each block of 128 bits.
HWY_INLINE void transpose_blocks(Vec& v0, Vec& v1, Vec& v2, Vec& v3) {
  const F32 d;
  const hn::Repartition<uint64_t, F32> d64;
  const auto lo01 = hn::BitCast(d64, hn::InterleaveLower(d, v0, v1));
  const auto hi01 = hn::BitCast(d64, hn::InterleaveUpper(d, v0, v1));
  const auto lo23 = hn::BitCast(d64, hn::InterleaveLower(d, v2, v3));
  const auto hi23 = hn::BitCast(d64, hn::InterleaveUpper(d, v2, v3));
  v0 = hn::BitCast(d, hn::InterleaveLower(d64, lo01, lo23));
  v1 = hn::BitCast(d, hn::InterleaveUpper(d64, lo01, lo23));
  v2 = hn::BitCast(d, hn::InterleaveLower(d64, hi01, hi23));
  v3 = hn::BitCast(d, hn::InterleaveUpper(d64, hi01, hi23));
}

// to[k * to_row + j] = from[j * ld + k] for j, k < lanes
HWY_INLINE void transpose_square(const float* HWY_RESTRICT from, size_t ld, float* HWY_RESTRICT to,
                                 size_t to_row) {
  const F32 d;
  Vec v[kLanes];
#pragma GCC unroll 16
  for (size_t j = 0; j < kLanes; ++j) v[j] = hn::LoadU(d, from + j * ld);
#pragma GCC unroll 4
  for (size_t j = 0; j < kLanes; j += 4) transpose_blocks(v[j], v[j + 1], v[j + 2], v[j + 3]);
    // Now block q of v[4 p + r] holds the elements j = 4 p ... 4 p + 3 of k = 4 q + r.
#if HWY_MAX_BYTES >= 64
#pragma GCC unroll 4
  for (size_t r = 0; r < 4; ++r) {
    const Vec p0 = v[r], p1 = v[4 + r], p2 = v[8 + r], p3 = v[12 + r];
    const Vec x0 = hn::ConcatLowerLower(d, p2, p0), x1 = hn::ConcatUpperUpper(d, p2, p0);
    const Vec y0 = hn::ConcatLowerLower(d, p3, p1), y1 = hn::ConcatUpperUpper(d, p3, p1);
    hn::Store(hn::OddEvenBlocks(hn::SwapAdjacentBlocks(y0), x0), d, to + r * to_row);
    hn::Store(hn::OddEvenBlocks(y0, hn::SwapAdjacentBlocks(x0)), d, to + (4 + r) * to_row);
    hn::Store(hn::OddEvenBlocks(hn::SwapAdjacentBlocks(y1), x1), d, to + (8 + r) * to_row);
    hn::Store(hn::OddEvenBlocks(y1, hn::SwapAdjacentBlocks(x1)), d, to + (12 + r) * to_row);
  }
#elif HWY_MAX_BYTES == 32
#pragma GCC unroll 4
  for (size_t r = 0; r < 4; ++r) {
    hn::Store(hn::ConcatLowerLower(d, v[4 + r], v[r]), d, to + r * to_row);
    hn::Store(hn::ConcatUpperUpper(d, v[4 + r], v[r]), d, to + (4 + r) * to_row);
  }
#else
  for (size_t r = 0; r < 4; ++r) hn::Store(v[r], d, to + r * to_row);
#endif
}
#endif  // HWY_TARGET == HWY_SCALAR

// Requests the lines of p[0, n) some iterations before they are read. Packing walks through memory
// with large strides, which hardware prefetchers do not follow across pages.
constexpr size_t kAhead = 8;
HWY_INLINE void prefetch(const float* p, size_t n) {
  for (size_t i = 0; i < n; i += 16) hwy::Prefetch(p + i);
}

constexpr size_t kAheadBlocks = 64;  // floats

// One panel of B for kNT: to[k][32] = b[j][k] for j < cols, zero behind them.
inline void pack_panel_transposed(const float* HWY_RESTRICT b, size_t ldb, size_t cols,
                                  size_t k_count, float* HWY_RESTRICT to) {
  if (cols < kPanel) std::memset(to, 0, k_count * kPanel * sizeof(float));
  size_t j = 0;
  for (; j + kLanes <= cols; j += kLanes) {
    const float* from = b + j * ldb;
    size_t k = 0;
    for (; k + kLanes <= k_count; k += kLanes) {
      // What is read four blocks later: of these rows, or of the next ones.
      const float* later = from + k + kAheadBlocks;
      if (k + kAheadBlocks >= k_count) later += kLanes * ldb - k_count;
#pragma GCC unroll 16
      for (size_t i = 0; i < kLanes; ++i) hwy::Prefetch(later + i * ldb);
      transpose_square(from + k, ldb, to + k * kPanel + j, kPanel);
    }
    for (; k < k_count; ++k) {
      for (size_t i = 0; i < kLanes; ++i) to[k * kPanel + j + i] = from[i * ldb + k];
    }
  }
  for (; j < cols; ++j) {
    for (size_t k = 0; k < k_count; ++k) to[k * kPanel + j] = b[j * ldb + k];
  }
}

// Panels of B for kNN and kTN: to[j / 32][k][32] = b[k][j] for j < cols, zero behind them. The
// panels are `panel` apart. Reads each row of B once, from left to right.
inline void pack_panels(const float* HWY_RESTRICT b, size_t ldb, size_t cols, size_t k_count,
                        float* HWY_RESTRICT to, size_t panel) {
  const F32 d;
  const size_t whole = cols / kPanel * kPanel, rest = cols - whole;
  for (size_t k = 0; k < k_count; ++k, b += ldb, to += kPanel) {
    if (k + kAhead < k_count) prefetch(b + kAhead * ldb, cols);
    float* HWY_RESTRICT out = to;
    for (size_t j = 0; j < whole; j += kPanel, out += panel) {
#pragma GCC unroll 8
      for (size_t i = 0; i < kPanel; i += kLanes) {
        hn::Store(hn::LoadU(d, b + j + i), d, out + i);
      }
    }
    if (rest != 0) {
      std::memset(out, 0, kPanel * sizeof(float));
      std::memcpy(out, b + whole, rest * sizeof(float));
    }
  }
}

// kNN, kNT: copies `rows` rows of A, k_count long, to rows that are packed_row(k_count) apart.
inline constexpr size_t packed_row(size_t k_count) { return ceil_div(k_count, 16) * 16 + kRowGap; }
inline void pack_a_rows(const float* a, size_t lda, size_t rows, size_t k_count, float* to) {
  if (k_count == 0) return;  // A may be null
  for (size_t i = 0; i < rows; ++i) {
    std::memcpy(to + i * packed_row(k_count), a + i * lda, k_count * sizeof(float));
  }
}

// kTN: copies k_count columns of op(A), [begin(first), begin(last)) of panels, to columns that are kRows
// apart. `a` is at the first row. Several panels at once: each takes but a part of a line, and columns a
// power of two apart fall into so few sets that a line is gone when the next panel is packed.
inline constexpr size_t kPanelsAtOnce = GemmScratch::kColumnRows / kRows;
inline constexpr size_t kAheadColumns = 16;
inline void pack_a_columns(const float* a, size_t lda, const RowPanels& panels, size_t first,
                           size_t last, size_t k_count, float* to) {
  const size_t begin = panels.begin(first), rows = panels.begin(last) - begin;
  Range panel[kPanelsAtOnce];
  for (size_t p = first; p < last; ++p) {
    panel[p - first] = {panels.begin(p) - begin, panels.begin(p + 1) - begin};
  }
  for (size_t k = 0; k < k_count; ++k, a += lda, to += kRows) {
    if (k + kAheadColumns < k_count) prefetch(a + kAheadColumns * lda, rows);
    for (size_t p = 0; p < last - first; ++p) {
      const float* const from = a + panel[p].begin;
      if (panel[p].size() == kRows) {
        std::memcpy(to + p * k_count * kRows, from, kRows * sizeof(float));  // of a known size
      } else {
        std::memcpy(to + p * k_count * kRows, from, panel[p].size() * sizeof(float));
      }
    }
  }
}

}  // namespace product
}  // namespace rapt::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // RAPT_KERNELS_GEMM_PACK_INL_H_

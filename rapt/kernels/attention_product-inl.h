// What the attention kernels multiply with: the register-tile product, its epilogues, and packing.
#if defined(RAPT_KERNELS_ATTENTION_PRODUCT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RAPT_KERNELS_ATTENTION_PRODUCT_INL_H_
#undef RAPT_KERNELS_ATTENTION_PRODUCT_INL_H_
#else
#define RAPT_KERNELS_ATTENTION_PRODUCT_INL_H_
#endif

#include <algorithm>
#include <cstring>
#include <utility>

#include "rapt/kernels/attention_prefetch-inl.h"
#include "rapt/kernels/simd_math-inl.h"

#define RAPT_UNROLL _Pragma("GCC unroll 16")

HWY_BEFORE_NAMESPACE();
namespace rapt::kernels::HWY_NAMESPACE {
namespace attn {

// Register arrays need sized vectors: SVE and RVV are out, NEON is in.
inline constexpr size_t kLanes = hn::MaxLanes(F32());

inline constexpr size_t round_up(size_t n, size_t step) { return (n + step - 1) / step * step; }
inline constexpr size_t vectors(size_t n) { return (n + kLanes - 1) / kLanes; }

// A NaN score is no maximum: it survives in its own exponential.
using math::larger;

// Hands out pieces of a task's scratch, each on a boundary of 64 bytes.
class Scratch {
 public:
  explicit Scratch(float* memory) : next_(memory) {}
  float* take(size_t floats) { return std::exchange(next_, next_ + round_up(floats, 16)); }

 private:
  float* next_;
};

// ---- C = A B for one register tile: kRows rows of A against kVecs vectors of a row of B.
// A(i, k) is a[i * lda + k], or a[k * lda + i] when kColumns. The sum over k is one chain of fused
// multiply-adds in order of k, whatever the tile: that is what makes the results tile-invariant.
template <int kRows, int kVecs, bool kColumns, class Epilogue>
HWY_INLINE void tile_product(const float* HWY_RESTRICT a, size_t lda, const float* HWY_RESTRICT b,
                             size_t ldb, size_t depth, size_t row, size_t vec,
                             const Epilogue& epilogue) {
  const F32 f32;
  Vec acc[kRows][kVecs];
  RAPT_UNROLL for (int i = 0; i < kRows; ++i) {
    RAPT_UNROLL for (int v = 0; v < kVecs; ++v) acc[i][v] = hn::Zero(f32);
  }
  for (size_t k = 0; k < depth; ++k) {
    Vec bk[kVecs];
    RAPT_UNROLL for (int v = 0; v < kVecs; ++v) bk[v] = hn::LoadU(f32, b + v * kLanes);
    RAPT_UNROLL for (int i = 0; i < kRows; ++i) {
      const Vec aik = hn::Set(f32, kColumns ? a[i] : a[i * lda]);
      RAPT_UNROLL for (int v = 0; v < kVecs; ++v) acc[i][v] = hn::MulAdd(aik, bk[v], acc[i][v]);
    }
    a += kColumns ? lda : 1;
    b += ldb;
  }
  epilogue(row, vec, acc);
}

// Tile shapes: rows for 1, 2, 3, 4 vectors. The accumulators, one row of B and a broadcast must fit
// the registers (32 in AVX3, else 16) and hide the latency of the fused multiply-add.
#if HWY_TARGET <= HWY_AVX3
inline constexpr int kMaxVecs = 4, kTileRows[4] = {8, 8, 8, 6};
#else
inline constexpr int kMaxVecs = 3, kTileRows[4] = {8, 6, 4, 0};
#endif

template <int kRows, int kVecs, bool kColumns, class Epilogue>
void tile_rows(size_t row, size_t rows, size_t vec, const float* a, size_t lda, const float* b,
               size_t ldb, size_t depth, const Epilogue& epilogue) {
  for (; row + kRows <= rows; row += kRows) {
    const float* ai = a + row * (kColumns ? 1 : lda);
    tile_product<kRows, kVecs, kColumns>(ai, lda, b, ldb, depth, row, vec, epilogue);
  }
  if constexpr (kRows > 1) {
    constexpr int kRest = kRows == 6 ? 4 : kRows / 2;
    if (row < rows) {
      tile_rows<kRest, kVecs, kColumns>(row, rows, vec, a, lda, b, ldb, depth, epilogue);
    }
  }
}

// Splits `vecs` evenly into groups of at most `most`: calls f(first, count).
template <class F>
HWY_INLINE void split_vectors(size_t vecs, size_t most, const F& f) {
  const size_t groups = (vecs + most - 1) / most;
  for (size_t g = 0, first = 0; g < groups; ++g) {
    const size_t count = (vecs - first + groups - g - 1) / (groups - g);
    f(first, count);
    first += count;
  }
}

// Calls f.operator()<count>(), for 1 to 4 vectors.
template <class F>
HWY_INLINE void with_count(size_t count, const F& f) {
  switch (count) {
    case 1:
      return f.template operator()<1>();
    case 2:
      return f.template operator()<2>();
    case 3:
      return f.template operator()<3>();
    default:
      return f.template operator()<4>();
  }
}

// C = A B over all rows and vectors. Each register tile goes to epilogue(row, vec, acc).
template <bool kColumns, class Epilogue>
void product(size_t rows, size_t vecs, const float* a, size_t lda, const float* b, size_t ldb,
             size_t depth, const Epilogue& epilogue) {
  split_vectors(vecs, kMaxVecs, [&](size_t vec, size_t count) HWY_ATTR {
    const float* bv = b + vec * kLanes;
    const auto run = [&]<int kVecs>() HWY_ATTR {
      if constexpr (kVecs <= kMaxVecs) {
        tile_rows<kTileRows[kVecs - 1], kVecs, kColumns>(0, rows, vec, a, lda, bv, ldb, depth,
                                                         epilogue);
      }
    };
    with_count(count, run);
  });
}

// Register tiles of a product, but for those of the rest of its rows.
inline size_t register_tiles(size_t rows, size_t vecs) {
  size_t tiles = 0;
  split_vectors(vecs, kMaxVecs,
                [&](size_t, size_t count) { tiles += rows / kTileRows[count - 1]; });
  return tiles;
}

struct Store {  // C = A B; max[vector] = the maximum with the rows of C, if wanted
  float* c;
  size_t ldc;
  float* max = nullptr;
  template <int kRows, int kVecs>
  HWY_INLINE void operator()(size_t row, size_t vec, Vec (&acc)[kRows][kVecs]) const {
    const F32 f32;
    float* p = c + row * ldc + vec * kLanes;
    RAPT_UNROLL for (int v = 0; v < kVecs; ++v) {
      RAPT_UNROLL for (int i = 0; i < kRows; ++i) {
        hn::StoreU(acc[i][v], f32, p + i * ldc + v * kLanes);
      }
      if (max != nullptr) {
        float* m = max + (vec + v) * kLanes;
        Vec top = hn::LoadU(f32, m);
        RAPT_UNROLL for (int i = 0; i < kRows; ++i) top = larger(top, acc[i][v]);
        hn::StoreU(top, f32, m);
      }
    }
  }
};

struct Accumulate {  // C += A B or, where that is all of the sum, C = scale A B
  float* c;
  size_t ldc;
  const float* scale = nullptr;
  template <int kRows, int kVecs>
  HWY_INLINE void operator()(size_t row, size_t vec, const Vec (&acc)[kRows][kVecs]) const {
    const F32 f32;
    float* p = c + row * ldc + vec * kLanes;
    if (scale != nullptr) {
      const Vec factor = hn::Set(f32, *scale);
      RAPT_UNROLL for (int i = 0; i < kRows; ++i, p += ldc) {
        RAPT_UNROLL for (int v = 0; v < kVecs; ++v) {  // 0 + x, as in a sum
          const Vec sum = hn::Add(hn::Zero(f32), acc[i][v]);
          hn::StoreU(hn::Mul(factor, sum), f32, p + v * kLanes);
        }
      }
      return;
    }
    RAPT_UNROLL for (int i = 0; i < kRows; ++i, p += ldc) {
      RAPT_UNROLL for (int v = 0; v < kVecs; ++v) {
        hn::StoreU(hn::Add(hn::LoadU(f32, p + v * kLanes), acc[i][v]), f32, p + v * kLanes);
      }
    }
  }
};

// O = fma(O, decay, A B) per row, from O = 0 in the first tile; the last one multiplies by `scale`.
struct Output {
  float* c;
  size_t ldc;
  const float* decay;  // null for the first tile
  const float* scale;  // null before the last tile
  template <int kRows, int kVecs>
  HWY_INLINE void operator()(size_t row, size_t vec, Vec (&acc)[kRows][kVecs]) const {
    const F32 f32;
    float* p = c + row * ldc + vec * kLanes;
    RAPT_UNROLL for (int i = 0; i < kRows; ++i, p += ldc) {
      if (decay != nullptr) {
        const Vec d = hn::Set(f32, decay[row + i]);
        RAPT_UNROLL for (int v = 0; v < kVecs; ++v) {
          acc[i][v] = hn::MulAdd(hn::LoadU(f32, p + v * kLanes), d, acc[i][v]);
        }
      } else {  // 0 + x: -0 becomes 0, as in a later tile
        RAPT_UNROLL for (int v = 0; v < kVecs; ++v) acc[i][v] = hn::Add(hn::Zero(f32), acc[i][v]);
      }
      if (scale != nullptr) {
        const Vec s = hn::Set(f32, scale[row + i]);
        RAPT_UNROLL for (int v = 0; v < kVecs; ++v) acc[i][v] = hn::Mul(acc[i][v], s);
      }
      RAPT_UNROLL for (int v = 0; v < kVecs; ++v) hn::StoreU(acc[i][v], f32, p + v * kLanes);
    }
  }
};

// Another epilogue, and after each tile some requests of memory that is needed later.
template <class Epilogue>
struct Prefetching {
  Epilogue epilogue;
  rapt::kernels::attn::Prefetch& ahead;
  template <int kRows, int kVecs>
  HWY_INLINE void operator()(size_t row, size_t vec, Vec (&acc)[kRows][kVecs]) const {
    epilogue(row, vec, acc);
    ahead.step();
  }
};
template <class Epilogue>
Prefetching(Epilogue, rapt::kernels::attn::Prefetch&) -> Prefetching<Epilogue>;

// ---- Packing
// Four floats of each of the rows first, first + 4, first + 8, … in one vector.
template <class D, class RowAt>
HWY_INLINE hn::Vec<D> load_blocks(D d, const RowAt& at, size_t first) {
  if constexpr (hn::MaxLanes(d) == 4) {
    return hn::LoadU(d, at(first));
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, load_blocks(half, at, first + hn::MaxLanes(d) / 2),
                       load_blocks(half, at, first));
  }
}

// out[c * ld + i] = factor * at(i)[c] for as many rows i as d has lanes and all c < columns.
template <class D, class RowAt>
HWY_INLINE void transpose_block(D d, const RowAt& at, size_t columns, float factor, float* out,
                                size_t ld) {
  // Interleaving twice transposes blocks of 4 x 4: one vector holds rows 0, 4, 8, …, the next 1, 5, …
  using V = hn::Vec<D>;
  const V scale = hn::Set(d, factor);
  size_t c = 0;
  for (; c + 4 <= columns; c += 4) {
    const auto rows = [&](size_t first) HWY_ATTR {
      return load_blocks(
          d, [&](size_t i) { return at(i + first) + c; }, 0);
    };
    const V x0 = rows(0), x1 = rows(1), x2 = rows(2), x3 = rows(3);
    const V a = hn::InterleaveLower(d, x0, x2), b = hn::InterleaveLower(d, x1, x3);
    const V u = hn::InterleaveUpper(d, x0, x2), v = hn::InterleaveUpper(d, x1, x3);
    float* to = out + c * ld;
    hn::StoreU(hn::Mul(scale, hn::InterleaveLower(d, a, b)), d, to);
    hn::StoreU(hn::Mul(scale, hn::InterleaveUpper(d, a, b)), d, to + ld);
    hn::StoreU(hn::Mul(scale, hn::InterleaveLower(d, u, v)), d, to + 2 * ld);
    hn::StoreU(hn::Mul(scale, hn::InterleaveUpper(d, u, v)), d, to + 3 * ld);
  }
  for (; c < columns; ++c) {
    for (size_t i = 0; i < hn::MaxLanes(d); ++i) out[c * ld + i] = factor * at(i)[c];
  }
}

// out[c * ld + r] = factor * at(r)[c] for r < width (whole vectors). Rows beyond `rows` repeat the
// last row: their results are never used.
template <class RowAt>
HWY_INLINE void pack_transposed(const RowAt& at, size_t rows, size_t columns, float factor,
                                float* out, size_t width, size_t ld) {
  for (size_t r = 0; r < width; r += kLanes) {
    if (r + kLanes <= rows) {
      transpose_block(
          F32(), [&](size_t i) { return at(r + i); }, columns, factor, out + r, ld);
    } else {
      const float* row[kLanes];
      for (size_t i = 0; i < kLanes; ++i) row[i] = at(std::min(r + i, rows - 1));
      transpose_block(
          F32(), [&](size_t i) { return row[i]; }, columns, factor, out + r, ld);
    }
  }
}

inline void pack_transposed(const float* x, size_t stride, size_t rows, size_t columns,
                            float factor, float* out, size_t width, size_t ld) {
  pack_transposed([&](size_t r) { return x + r * stride; }, rows, columns, factor, out, width, ld);
}

struct Rows {
  const float* data;
  size_t stride;
  Rows from(size_t first) const { return {data + first * stride, stride}; }
};

HWY_INLINE void copy_row(const float* from, size_t step, size_t dim, float* to, size_t width) {
  size_t i = 0;
  for (; step == 1 && i + kLanes <= dim; i += kLanes) {
    hn::StoreU(hn::LoadU(F32(), from + i), F32(), to + i);
  }
  if (i == width) return;
  for (; i < dim; ++i) to[i] = from[i * step];
  std::fill(to + dim, to + width, 0.0f);
}

// Whether rows are so far apart, and so many, that they would push each other out of L1: then they
// are copied before they are read again and again.
inline bool is_far(size_t stride, size_t dim, size_t rows) { return stride > 2 * dim && rows > 16; }

// The rows as they are, or, if `copy`, a copy padded with zeros to whole vectors.
inline Rows stage(const float* x, size_t stride, size_t rows, size_t dim, bool copy, float* out) {
  if (!copy) return {x, stride};
  const size_t width = round_up(dim, kLanes);
  for (size_t r = 0; r < rows; ++r) copy_row(x + r * stride, 1, dim, out + r * width, width);
  return {out, width};
}

}  // namespace attn
}  // namespace rapt::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // RAPT_KERNELS_ATTENTION_PRODUCT_INL_H_

// The micro-kernel of the matrix product for one SIMD target: a tile of op(A) op(B) in registers.
// Include after foreach_target.h.
#if defined(RAPT_KERNELS_GEMM_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RAPT_KERNELS_GEMM_TILE_INL_H_
#undef RAPT_KERNELS_GEMM_TILE_INL_H_
#else
#define RAPT_KERNELS_GEMM_TILE_INL_H_
#endif

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "hwy/highway.h"
#include "rapt/kernels/gemm_plan.h"

HWY_BEFORE_NAMESPACE();
namespace rapt::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;
using Vec = hn::Vec<F32>;

namespace product {

inline constexpr size_t kLanes = hn::MaxLanes(F32());  // divides the width of a panel
inline constexpr size_t kPanel = PackedB::kWidth;

// Accumulators: 14 x 2 of 32 registers, or 6 x 2 of 16. Fewer rows take more columns, to have
// enough independent chains to hide the latency of the FMA.
inline constexpr bool k32Registers = kLanes == 16;
inline constexpr size_t kRows = k32Registers ? kMostRows : 6;
constexpr size_t max_vectors(size_t rows) {
  if (k32Registers) return rows == 1 ? 8 : rows <= 6 ? 4 : 2;
  return rows == 1 ? 8 : rows <= 3 ? 4 : 2;
}

// How A lies: A(i, k) = a[i * a_stride + k]; kTN: a[k * a_stride + i]; packed: a[k * kRows + i].
enum class Layout { kRows, kColumns, kPackedColumns };

// Where the operands of a tile are. B(k, j) is at b[k * b_row + j] within a panel of 32 columns; the
// next panel is b_panel further.
struct Operands {
  Layout layout;
  const float* a;
  size_t a_stride;
  const float* b;
  size_t b_row, b_panel;
};

// Where a tile goes, its rows `row` floats apart: c = dot, c = dot + c, or c = dot + bias.
struct TileOutput {
  float* c;
  size_t row;
  bool add = false;
  const float* bias = nullptr;  // or null
};

// What a tile requests while it computes, into L2, where it is not in the way of A and B: a row of
// C and one of A every few k. All at once would fill the queue of misses, and A and B wait behind it.
struct Requests {
  const float* c;  // where the tile will be written
  size_t c_row;
  const float* a;  // rows that later tiles read, `lines` times 16 floats of each
  size_t a_row, lines;
};
inline constexpr size_t kStepsARequest = 112 / kRows;

// Column k of the kR rows of A, then the next. Four rows share a pointer: x86 addresses 0, 1 and 2
// times a stride for free.
template <size_t kR>
class AInRows {
 public:
  static constexpr int kLevelOfB = 3;
  HWY_INLINE AInRows(const float* a, size_t stride)
      : stride_(stride),
        three_(3 * stride),
        a_{a, a + 4 * stride, a + 8 * stride, a + 12 * stride} {}
  HWY_INLINE float operator()(size_t i) const {
    return a_[i / 4][i % 4 == 3 ? three_ : i % 4 * stride_];
  }
  HWY_INLINE void next() {
#pragma GCC unroll 4
    for (size_t g = 0; g < (kR + 3) / 4; ++g) a_[g] += 1;
  }

 private:
  size_t stride_, three_;
  const float* a_[4];
};

// The same where columns are contiguous. They are far apart: no prefetcher of the CPU follows, so the
// next ones are requested, into L2, since those a power of two apart fall into few sets of L1.
template <size_t kR>
class AInColumns {
 public:
  static constexpr int kLevelOfB = 2;  // A crowds L1
  HWY_INLINE AInColumns(const float* a, size_t stride) : stride_(stride), a_(a) {}
  HWY_INLINE float operator()(size_t i) const { return a_[i]; }
  HWY_INLINE void next() {
    const float* ahead = a_ + kAhead * stride_;
    __builtin_prefetch(ahead, 0, 2);
    if constexpr (kR > 1) __builtin_prefetch(ahead + kR - 1, 0, 2);  // perhaps another line
    a_ += stride_;
  }

 private:
  static constexpr size_t kAhead = 32;
  size_t stride_;
  const float* a_;
};

// The same packed: columns kRows apart, which the L1 prefetcher follows.
template <size_t kR>
class APacked {
 public:
  static constexpr int kLevelOfB = 3;
  HWY_INLINE APacked(const float* a, size_t) : a_(a) {}
  HWY_INLINE float operator()(size_t i) const { return a_[i]; }
  HWY_INLINE void next() { a_ += kRows; }

 private:
  const float* a_;
};

// Rows of B requested ahead of their use: B may be in L3 or memory when it is read the first time.
inline constexpr size_t kAheadB = 24;

// The product of kR rows of A and kV * lanes columns of B.
template <size_t kR, size_t kV, template <size_t> class A>
void Tile(size_t k_count, const Operands& in, const TileOutput& out, const Requests& requests) {
  const F32 d;
  Vec sum[kR][kV];
#pragma GCC unroll 16
  for (size_t i = 0; i < kR; ++i) {
#pragma GCC unroll 8
    for (size_t j = 0; j < kV; ++j) sum[i][j] = hn::Zero(d);
  }
  A<kR> a(in.a, in.a_stride);
  const size_t step_b = in.b_row, panel = in.b_panel;
  const float* HWY_RESTRICT b = in.b;
  const auto step = [&]() HWY_ATTR {
    Vec bv[kV];
#pragma GCC unroll 8
    for (size_t j = 0; j < kV; ++j) {
      bv[j] = hn::LoadU(d, b + j * kLanes / kPanel * panel + j * kLanes % kPanel);
    }
    if constexpr (kR > 1) {  // one row reads faster than prefetches could be issued
#pragma GCC unroll 8
      for (size_t j = 0; j < kV * kLanes; j += 16) {
        __builtin_prefetch(b + kAheadB * step_b + j / kPanel * panel + j % kPanel, 0,
                           A<kR>::kLevelOfB);
      }
    }
    b += step_b;
#pragma GCC unroll 16
    for (size_t i = 0; i < kR; ++i) {
      const Vec av = hn::Set(d, a(i));
#pragma GCC unroll 8
      for (size_t j = 0; j < kV; ++j) sum[i][j] = hn::MulAdd(av, bv[j], sum[i][j]);
    }
    a.next();
  };
  const float *c_ahead = requests.c, *a_ahead = requests.a;
  for (size_t k = 0, rows = kR; k < k_count;) {
    if (rows != 0) {
      --rows;
#pragma GCC unroll 8
      for (size_t j = 0; j < kV * kLanes; j += 16) __builtin_prefetch(c_ahead + j, 1, 2);
      c_ahead += requests.c_row;
      for (size_t j = 0; j < requests.lines; ++j) __builtin_prefetch(a_ahead + 16 * j, 0, 2);
      a_ahead += requests.a_row;
    }
    for (const size_t end = std::min(k + kStepsARequest, k_count); k < end; ++k) step();
  }
  const auto write = [&](const auto& finish) HWY_ATTR {
    float* c = out.c;
#pragma GCC unroll 16
    for (size_t i = 0; i < kR; ++i, c += out.row) {
#pragma GCC unroll 8
      for (size_t j = 0; j < kV; ++j) {
        hn::StoreU(finish(sum[i][j], c + j * kLanes, j * kLanes), d, c + j * kLanes);
      }
    }
  };
  if (out.bias != nullptr) {
    write([&](Vec dot, const float*, size_t j)
              HWY_ATTR { return hn::Add(dot, hn::LoadU(d, out.bias + j)); });
  } else if (out.add) {
    write([&](Vec dot, const float* c, size_t) HWY_ATTR { return hn::Add(dot, hn::LoadU(d, c)); });
  } else {
    write([](Vec dot, const float*, size_t) HWY_ATTR { return dot; });
  }
}

using TileFn = void (*)(size_t, const Operands&, const TileOutput&, const Requests&);

template <size_t kR, size_t kV, template <size_t> class A>
constexpr TileFn tile_or_null() {
  if constexpr (kV <= max_vectors(kR))
    return &Tile<kR, kV, A>;
  else
    return nullptr;
}
template <template <size_t> class A, size_t... kR>
constexpr auto make_tiles(std::index_sequence<kR...>) {
  return std::array<std::array<TileFn, 4>, sizeof...(kR)>{
      {{tile_or_null<kR + 1, 1, A>(), tile_or_null<kR + 1, 2, A>(), tile_or_null<kR + 1, 4, A>(),
        tile_or_null<kR + 1, 8, A>()}...}};
}
// kTiles[layout of A][rows - 1][log2(vectors)]
inline constexpr std::array kTiles{make_tiles<AInRows>(std::make_index_sequence<kRows>()),
                                   make_tiles<AInColumns>(std::make_index_sequence<kRows>()),
                                   make_tiles<APacked>(std::make_index_sequence<kRows>())};

}  // namespace product
}  // namespace rapt::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // RAPT_KERNELS_GEMM_TILE_INL_H_

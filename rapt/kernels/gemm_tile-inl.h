// The micro-kernel of the matrix product for one SIMD target: a tile of op(A) op(B) in registers.
// Include after foreach_target.h.
#if defined(RAPT_KERNELS_GEMM_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RAPT_KERNELS_GEMM_TILE_INL_H_
#undef RAPT_KERNELS_GEMM_TILE_INL_H_
#else
#define RAPT_KERNELS_GEMM_TILE_INL_H_
#endif

#include <array>
#include <cstddef>
#include <utility>

#include "hwy/cache_control.h"
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

// Where the operands of a tile are: A(i, k) = a[i * a_row + k * a_col], and B(k, j) is at
// b[k * b_row + j] within a panel of 32 columns; the next panel is b_panel further.
struct Operands {
  const float* a;
  size_t a_row, a_col;
  const float* b;
  size_t b_row, b_panel;
};

// Rows of B requested ahead of their use: B may be in L3 or memory when it is read the first time.
inline constexpr size_t kAheadB = 24;

// out[i * out_row + j] = (A B)(i, j) for i < kR, j < kV * lanes
template <size_t kR, size_t kV>
void Tile(size_t k_count, const Operands& in, float* HWY_RESTRICT out, size_t out_row) {
  const F32 d;
  Vec sum[kR][kV];
#pragma GCC unroll 16
  for (size_t i = 0; i < kR; ++i) {
#pragma GCC unroll 8
    for (size_t j = 0; j < kV; ++j) sum[i][j] = hn::Zero(d);
  }
  // Four rows share a pointer: x86 addresses 0, 1 and 2 times a stride for free.
  const size_t row = in.a_row, row3 = 3 * row, step_a = in.a_col, step_b = in.b_row;
  const float* a[4] = {in.a, in.a + 4 * row, in.a + 8 * row, in.a + 12 * row};
  const float* HWY_RESTRICT b = in.b;
  const size_t panel = in.b_panel;
  for (size_t k = 0; k < k_count; ++k) {
    Vec bv[kV];
#pragma GCC unroll 8
    for (size_t j = 0; j < kV; ++j) {
      bv[j] = hn::LoadU(d, b + j * kLanes / kPanel * panel + j * kLanes % kPanel);
    }
    if constexpr (kR > 1) {  // one row reads faster than prefetches could be issued
#pragma GCC unroll 8
      for (size_t j = 0; j < kV * kLanes; j += 16) {
        hwy::Prefetch(b + kAheadB * step_b + j / kPanel * panel + j % kPanel);
      }
    }
    b += step_b;
#pragma GCC unroll 16
    for (size_t i = 0; i < kR; ++i) {
      const Vec av = hn::Set(d, a[i / 4][i % 4 == 3 ? row3 : i % 4 * row]);
#pragma GCC unroll 8
      for (size_t j = 0; j < kV; ++j) sum[i][j] = hn::MulAdd(av, bv[j], sum[i][j]);
    }
#pragma GCC unroll 4
    for (size_t g = 0; g < (kR + 3) / 4; ++g) a[g] += step_a;
  }
#pragma GCC unroll 16
  for (size_t i = 0; i < kR; ++i) {
#pragma GCC unroll 8
    for (size_t j = 0; j < kV; ++j) hn::StoreU(sum[i][j], d, out + j * kLanes);
    out += out_row;
  }
}

using TileFn = void (*)(size_t, const Operands&, float*, size_t);

template <size_t kR, size_t kV>
constexpr TileFn tile_or_null() {
  if constexpr (kV <= max_vectors(kR))
    return &Tile<kR, kV>;
  else
    return nullptr;
}
template <size_t... kR>
constexpr auto make_tiles(std::index_sequence<kR...>) {
  return std::array<std::array<TileFn, 4>, sizeof...(kR)>{
      {{tile_or_null<kR + 1, 1>(), tile_or_null<kR + 1, 2>(), tile_or_null<kR + 1, 4>(),
        tile_or_null<kR + 1, 8>()}...}};
}
// kTiles[rows - 1][log2(vectors)]
inline constexpr auto kTiles = make_tiles(std::make_index_sequence<kRows>());

}  // namespace product
}  // namespace rapt::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // RAPT_KERNELS_GEMM_TILE_INL_H_

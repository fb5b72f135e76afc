// The blocks of the matrix product for one SIMD target, with an epilogue of the caller's choice.
// Include after foreach_target.h.
//
// Tiles, panels, threads and vector lanes only choose *which* elements are computed together: the
// order of summation of an element (gemm.h) is a function of k alone.
#if defined(RAPT_KERNELS_GEMM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RAPT_KERNELS_GEMM_INL_H_
#undef RAPT_KERNELS_GEMM_INL_H_
#else
#define RAPT_KERNELS_GEMM_INL_H_
#endif

#include <cstddef>
#include <cstring>
#include <type_traits>

#include "rapt/kernels/activation-inl.h"
#include "rapt/kernels/gemm_pack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rapt::kernels::HWY_NAMESPACE {
namespace product {

// The last `n` < lanes elements of a row: no load or store may touch what lies behind them.
HWY_INLINE Vec load_part(const float* p, size_t n) {
  alignas(64) float buffer[kLanes] = {};
  std::memcpy(buffer, p, n * sizeof(float));
  return hn::Load(F32(), buffer);
}
HWY_INLINE void store_part(Vec v, float* p, size_t n) {
  alignas(64) float buffer[kLanes];
  hn::Store(v, F32(), buffer);
  std::memcpy(p, buffer, n * sizeof(float));
}
HWY_INLINE Vec load(const float* p, size_t n) {
  return n == kLanes ? hn::LoadU(F32(), p) : load_part(p, n);
}
HWY_INLINE void store(Vec v, float* p, size_t n) {
  if (n == kLanes)
    hn::StoreU(v, F32(), p);
  else
    store_part(v, p, n);
}

// An epilogue maps the vector of C at (row, col); only its first n lanes are elements of C.
struct Identity {
  HWY_INLINE Vec operator()(Vec v, size_t, size_t, size_t) const { return v; }
};

template <Activation kActivation>
struct BiasActivation {
  const float* bias;  // null: none
  float* pre_activation;
  size_t pre_activation_row;

  HWY_INLINE Vec operator()(Vec v, size_t row, size_t col, size_t n) const {
    if (bias != nullptr) v = hn::Add(v, load(bias + col, n));
    if (pre_activation != nullptr) store(v, pre_activation + row * pre_activation_row + col, n);
    return activate<kActivation>(v);
  }
};

// The bias, where it is all that an epilogue does.
template <class Epilogue>
HWY_INLINE const float* bias_alone(const Epilogue&) {
  return nullptr;
}
HWY_INLINE const float* bias_alone(const BiasActivation<Activation::kNone>& e) {
  return e.pre_activation == nullptr ? e.bias : nullptr;
}

// A product as the loops see it.
struct Operation {
  Op op;
  size_t m, n, k;
  const float* a;
  size_t lda;
  const float* b;
  size_t ldb;
  const float* packed;  // the panels of the whole op(B), or null
  float* c;
  size_t ldc;
  float alpha;
  bool accumulate;
};

// Maps the tile into C. Edges take the same vector code, so they get the same bits.
template <bool kAdd, class Epilogue>
HWY_INLINE void finish_tile(const float* HWY_RESTRICT tile, size_t rows, size_t tile_row,
                            size_t cols, float alpha, float* HWY_RESTRICT c, size_t ldc,
                            size_t row0, size_t col0, const Epilogue& epilogue) {
  const Vec scale = hn::Set(F32(), alpha);
  const auto finish = [&](const float* from, float* to, size_t row, size_t col, size_t n) HWY_ATTR {
    const Vec dot = hn::Load(F32(), from);
    const Vec v = kAdd ? hn::MulAdd(scale, dot, load(to, n)) : hn::Mul(scale, dot);
    store(epilogue(v, row, col, n), to, n);
  };
  for (size_t i = 0; i < rows; ++i) {
    const float* from = tile + i * tile_row;
    float* to = c + i * ldc;
    size_t j = 0;
    for (; j + kLanes <= cols; j += kLanes) finish(from + j, to + j, row0 + i, col0 + j, kLanes);
    if (j < cols) finish(from + j, to + j, row0 + i, col0 + j, cols - j);
  }
}

// Rows `rows` of C(:, cols) for the block [k0, k0 + kc). `in` is at the first row and column.
template <class Epilogue>
void multiply_rows(const Operation& g, Range rows, Range cols, size_t k0, size_t kc, Operands in,
                   const Epilogue& epilogue, float* tile, Requests requests) {
  const bool last = k0 + kc >= g.k, add = k0 > 0 || g.accumulate;
  const float* const bias = last ? bias_alone(epilogue) : nullptr;
  // What the micro-kernel can do itself, without `tile`.
  const bool simple =
      g.alpha == 1.0f && (!last || std::is_same_v<Epilogue, Identity> || (bias != nullptr && !add));
  const size_t count = rows.size();
  const float* const b = in.b;
  size_t vectors = max_vectors(count);
  for (size_t j = cols.begin; j < cols.end;) {
    const size_t left = cols.end - j;
    while (vectors > 1 &&
           (vectors * kLanes > ceil_div(left, kPanel) * kPanel || vectors / 2 * kLanes >= left)) {
      vectors /= 2;
    }
    const size_t width = vectors * kLanes, n = std::min(width, left), offset = j - cols.begin;
    float* c = g.c + rows.begin * g.ldc + j;
    in.b = b + offset / kPanel * in.b_panel + offset % kPanel;
    const bool in_place = simple && n == width;
    requests.c = c;
    const TileFn run = kTiles[static_cast<size_t>(in.layout)][count - 1]
                             [hwy::Num0BitsBelowLS1Bit_Nonzero64(vectors)];
    if (in_place) {
      run(kc, in, {c, g.ldc, add, bias == nullptr ? nullptr : bias + j}, requests);
    } else {
      run(kc, in, {tile, width}, requests);
      const auto finish = [&](auto add_c, const auto& map) HWY_ATTR {
        finish_tile<add_c.value>(tile, count, width, n, g.alpha, c, g.ldc, rows.begin, j, map);
      };
      using std::false_type, std::true_type;
      if (last) {
        add ? finish(true_type(), epilogue) : finish(false_type(), epilogue);
      } else {
        add ? finish(true_type(), Identity()) : finish(false_type(), Identity());
      }
    }
    j += width;
    requests.a += requests.lines * 16;
  }
}

// Where columns `cols` of op(B), rows [k0, k0 + kc), are read from: as they are, or packed first.
HWY_INLINE Operands operands_b(const Operation& g, Range cols, size_t k0, size_t kc, bool direct,
                               float* scratch) {
  Operands in{};
  if (g.packed != nullptr) {
    in.b = g.packed + cols.begin * g.k + k0 * kPanel;
    in.b_row = kPanel, in.b_panel = g.k * kPanel;
    return in;
  }
  if (direct) {
    in.b = g.b + k0 * g.ldb + cols.begin;
    in.b_row = g.ldb, in.b_panel = kPanel;
    return in;
  }
  if (g.op == Op::kNT) {
    for (size_t j = cols.begin; j < cols.end; j += kPanel) {
      pack_panel_transposed(g.b + j * g.ldb + k0, g.ldb, std::min(kPanel, cols.end - j), kc,
                            scratch + (j - cols.begin) * kc);
    }
  } else {
    pack_panels(g.b + k0 * g.ldb + cols.begin, g.ldb, cols.size(), kc, scratch, kc * kPanel);
  }
  in.b = scratch;
  in.b_row = kPanel, in.b_panel = kc * kPanel;
  return in;
}

// Points `in` at row panel p of op(A), k in [k0, k0 + kc): in place, or packed first.
HWY_INLINE void set_operand_a(const Operation& g, const RowPanels& panels, size_t p, size_t k0,
                              size_t kc, const GemmBlocks& blocks, float* scratch, Operands& in) {
  const bool columns = g.op == Op::kTN;
  const size_t row = panels.begin(p);
  in.a = columns ? g.a + k0 * g.lda + row : g.a + row * g.lda + k0;
  in.a_stride = g.lda;
  in.layout = !columns ? Layout::kRows : blocks.pack_a ? Layout::kPackedColumns : Layout::kColumns;
  if (!blocks.pack_a) return;
  if (columns) {
    const size_t last = std::min(p + kPanelsAtOnce, panels.count);
    if (p % kPanelsAtOnce == 0) pack_a_columns(in.a, g.lda, panels, p, last, kc, scratch);
    in.a = scratch + p % kPanelsAtOnce * kc * kRows;
  } else {
    pack_a_rows(in.a, g.lda, panels.begin(p + 1) - row, kc, scratch);
    in.a = scratch;
    in.a_stride = packed_row(kc);
  }
}

// Beside C(:, cols), the rows of A of the panel behind p, in equal parts by the tiles of this one.
// Those of kTN, the micro-kernel requests itself.
HWY_INLINE Requests requests_of(const Operation& g, const RowPanels& panels, size_t p, size_t cols,
                                size_t k0, size_t kc) {
  Requests requests{.c = nullptr, .c_row = g.ldc, .a = g.a, .a_row = g.lda, .lines = 0};
  if (g.op == Op::kTN || p + 1 == panels.count) return requests;
  requests.a = g.a + panels.begin(p + 1) * g.lda + k0;
  const size_t width = max_vectors(panels.begin(p + 1) - panels.begin(p)) * kLanes;
  requests.lines = ceil_div(ceil_div(kc, 16), ceil_div(cols, width));
  return requests;
}

// C(rows, cols).
template <class Epilogue>
void multiply(const Operation& g, Range rows, Range cols, const GemmBlocks& blocks,
              const GemmScratch& scratch, const Epilogue& epilogue) {
  const size_t kc_max = k_block(g.k);
  const RowPanels panels(rows, kRows);
  for (size_t jc = cols.begin, next; jc < cols.end; jc = next) {
    // Whole panels of B may be read in place; what is left must be padded.
    const bool direct = blocks.direct && jc + kPanel <= cols.end;
    next =
        direct ? jc + (cols.end - jc) / kPanel * kPanel : std::min(jc + blocks.columns, cols.end);
    const Range block{jc, next};
    for (size_t k0 = 0; k0 < g.k || k0 == 0; k0 += kc_max) {
      const size_t kc = std::min(kc_max, g.k - k0);
      Operands in = operands_b(g, block, k0, kc, direct, scratch.b);
      for (size_t p = 0; p < panels.count; ++p) {
        const Range panel{panels.begin(p), panels.begin(p + 1)};
        set_operand_a(g, panels, p, k0, kc, blocks, scratch.a, in);
        multiply_rows(g, panel, block, k0, kc, in, epilogue, scratch.tile,
                      requests_of(g, panels, p, block.size(), k0, kc));
      }
    }
  }
}

}  // namespace product
}  // namespace rapt::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // RAPT_KERNELS_GEMM_INL_H_

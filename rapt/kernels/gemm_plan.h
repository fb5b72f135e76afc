// How a product is cut: what the dispatching code and the code of each SIMD target share.
#pragma once
#include <algorithm>
#include <cstddef>

#include "rapt/kernels/gemm.h"

namespace rapt::kernels {

constexpr size_t ceil_div(size_t x, size_t y) { return (x + y - 1) / y; }

// The only size that the bits depend on, a function of k alone: ceil(k / 512) equal blocks, rounded
// up to 16.
inline constexpr size_t kMaxBlock = 512;
constexpr size_t k_block(size_t k) {
  const size_t blocks = std::max<size_t>(1, ceil_div(k, kMaxBlock));
  return std::max<size_t>(16, ceil_div(ceil_div(k, blocks), 16) * 16);
}

struct Range {
  size_t begin, end;
  size_t size() const { return end - begin; }
};

// Rows cut into panels of nearly the same height, at most `max_height`, so that no tile is left
// with a single row.
struct RowPanels {
  RowPanels(Range rows, size_t max_height)
      : first(rows.begin), size(rows.size()), count(ceil_div(rows.size(), max_height)) {}
  size_t begin(size_t p) const { return first + size * p / count; }
  size_t first, size, count;
};

// These change the speed, never the bits.
struct GemmBlocks {
  size_t columns;  // of B, packed at once
  bool direct;     // read B in place
  bool pack_a;     // else read A in place
};
inline constexpr size_t kMostRows = 14;  // of a tile, on any target
inline constexpr size_t kRowGap = 16;    // floats between packed rows: not all in one cache set

// The memory of one task.
struct GemmScratch {
  static constexpr size_t kTile = 512;       // 14 x 32 or 1 x 128
  static constexpr size_t kColumnRows = 48;  // of A, packed at once for kTN: three lines
  static size_t a_size(const GemmBlocks& blocks) {
    return blocks.pack_a ? std::max(kMostRows * (kMaxBlock + kRowGap), kColumnRows * kMaxBlock) : 0;
  }
  static size_t floats(const GemmBlocks& blocks, bool packs_b) {
    return kTile + a_size(blocks) + (packs_b ? kMaxBlock * blocks.columns : 0);
  }
  GemmScratch(float* memory, const GemmBlocks& blocks)
      : tile(memory), a(memory + kTile), b(memory + kTile + a_size(blocks)) {}

  float *tile, *a, *b;
};

// A cut of m x n into rectangles: rows in any place, columns between panels. k is never cut.
struct Grid {
  size_t rows, cols;
};

// At most `threads` rectangles. Each task packs what it reads, so the cut that packs least wins.
inline Grid choose_grid(size_t m, size_t n, size_t threads, bool packs_b) {
  Grid best{1, 1};
  double best_cost = 1e300;
  for (size_t tm = 1; tm <= threads; ++tm) {
    const size_t tn = threads / tm;
    const auto rows = static_cast<double>(ceil_div(m, tm));
    const auto cols = static_cast<double>(PackedB::kWidth) *
                      static_cast<double>(ceil_div(ceil_div(n, PackedB::kWidth), tn));
    // In cycles for one k: FMAs, then reading, or packing, a row of B, and reading a column of A.
    const double cost = rows * cols / 64 + (packs_b ? 0.5 : 0.1) * cols + 0.1 * rows;
    if (cost < best_cost) best_cost = cost, best = {tm, tn};
  }
  return best;
}

// Rectangle t of the grid.
struct Rectangle {
  Rectangle(Grid grid, size_t m, size_t n, size_t t) {
    const size_t panels = ceil_div(n, PackedB::kWidth), i = t / grid.cols, j = t % grid.cols;
    rows = {m * i / grid.rows, m * (i + 1) / grid.rows};
    cols = {panels * j / grid.cols * PackedB::kWidth,
            std::min(n, panels * (j + 1) / grid.cols * PackedB::kWidth)};
  }
  bool empty() const { return rows.begin == rows.end || cols.begin >= cols.end; }
  Range rows, cols;
};

}  // namespace rapt::kernels

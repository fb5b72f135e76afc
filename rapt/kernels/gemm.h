// The matrix product, row-major, in single precision.
//   C = activation(alpha op(A) op(B) + C0 + bias)     C0 is C if `accumulate`, else 0
// Every element has the same bits for every number of threads, every m and n around it, every place
// in C, with B packed or not, and on every SIMD target with FMA. The order of summation:
//   c = C0;  for each block of k in order:  c = fma(alpha, dot, c)
//   dot = one chain of fma over the k of the block, in order, from 0
// where a block has k_block(k) elements (gemm_plan.h); gemm_ref.h is the scalar definition.
#pragma once
#include <cassert>
#include <cstddef>
#include <span>

#include "rapt/base/matrix_view.h"
#include "rapt/kernels/activation.h"
#include "rapt/parallel/pool.h"

namespace rapt::kernels {

enum class Op {
  kNN,  // A is [m, k], B is [k, n]     dy W      the gradient of the input
  kNT,  // A is [m, k], B is [n, k]     x W^T     a linear layer
  kTN,  // A is [k, m], B is [k, n]     dy^T x    the gradient of the weight
};

struct Gemm {
  Op op = Op::kNN;
  MatrixView<const float> a, b;
  MatrixView<float> c;  // [m, n]; overlaps neither A nor B
  float alpha = 1.0f;
  bool accumulate = false;
  std::span<const float> bias = {};  // n values, or none
  Activation activation = Activation::kNone;
  // [m, n] or none: receives what the activation was applied to, for the backward pass.
  MatrixView<float> pre_activation = {};

  size_t m() const { return c.rows(); }
  size_t n() const { return c.cols(); }
  size_t k() const { return op == Op::kTN ? a.rows() : a.cols(); }
};

// op(B) as panels of 32 columns, [ceil(n / 32)][k][32], the last one padded with zeros. The format
// is the same for every target. The memory is borrowed.
struct PackedB {
  static constexpr size_t kWidth = 32;
  static size_t floats(size_t n, size_t k) { return (n + kWidth - 1) / kWidth * kWidth * k; }

  const float* data = nullptr;
  size_t n = 0, k = 0;
  // Element (k, j) of op(B).
  float at(size_t row, size_t col) const {
    return data[(col / kWidth * k + row) * kWidth + col % kWidth];
  }
  // Columns [first, last) of op(B), in the same memory; first is a multiple of kWidth.
  PackedB columns(size_t first, size_t last) const {
    assert(first % kWidth == 0 && first <= last && last <= n);
    return {data + first * k, last - first, k};
  }
};

// Packs op(B) into `memory` of PackedB::floats(n, k), aligned to 64 bytes.
PackedB pack_b(Op op, MatrixView<const float> b, std::span<float> memory, Pool& pool);

void gemm(const Gemm& g, Pool& pool);                    // packs what it needs, in scratch
void gemm(const Gemm& g, const PackedB& b, Pool& pool);  // g.b is ignored, g.op speaks of A alone

// The sizes of blocks. They change the speed, never the bits; 0 or -1: chosen by the shape.
struct GemmTuning {
  size_t columns = 0;     // of B, packed at once
  int direct_below = -1;  // kNN, kTN: B is read in place if m is at most this
  int pack_a = -1;        // 0 or 1
};
void gemm(const Gemm& g, const GemmTuning& tuning, Pool& pool);

}  // namespace rapt::kernels

// The scalar definition of gemm.h. With float and std::fma it gives the very bits; with any other
// number it gives the value: double, or dual numbers for derivatives.
#pragma once
#include <cmath>
#include <cstddef>

#include "rapt/base/matrix_view.h"
#include "rapt/kernels/activation_ref.h"
#include "rapt/kernels/gemm_plan.h"

namespace rapt::kernels {

inline float ref_fma(float x, float y, float z) { return std::fma(x, y, z); }
template <class T>
T ref_fma(T x, T y, T z) {
  return x * y + z;
}

template <class T>
struct GemmRef {
  Op op = Op::kNN;
  MatrixView<const T> a, b;
  T alpha = T(1);
  bool accumulate = false;
  const T* bias = nullptr;

  size_t k() const { return op == Op::kTN ? a.rows() : a.cols(); }

  // Element (i, j) before the activation; c0 is what C held. Targets without FMA give their own
  // multiply-add.
  template <class Fma>
  T operator()(size_t i, size_t j, T c0, const Fma& fma) const {
    const size_t block = k_block(k());
    T c = c0;
    for (size_t begin = 0; begin < k() || begin == 0; begin += block) {
      T dot = T(0);
      for (size_t q = begin; q < std::min(k(), begin + block); ++q) {
        const T x = op == Op::kTN ? a.row(q)[i] : a.row(i)[q];
        const T y = op == Op::kNT ? b.row(j)[q] : b.row(q)[j];
        dot = fma(x, y, dot);
      }
      c = begin == 0 && !accumulate ? alpha * dot : fma(alpha, dot, c);
    }
    return bias == nullptr ? c : c + bias[j];
  }
  T operator()(size_t i, size_t j, T c0 = T(0)) const {
    return (*this)(i, j, c0, [](T x, T y, T z) { return ref_fma(x, y, z); });
  }
};

}  // namespace rapt::kernels

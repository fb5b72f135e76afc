// A tensor with its place on the tape: what operations take and give.
#pragma once
#include <cstdint>
#include <utility>

#include "rapt/tensor/tensor.h"

namespace rapt {

class Var {
 public:
  static constexpr int32_t kConstant = -1;

  Var() = default;
  Var(Tensor value, int32_t node = kConstant)  // NOLINT: a tensor is a constant
      : value_(std::move(value)), node_(node) {}

  const Tensor& value() const { return value_; }
  int32_t node() const { return node_; }
  bool constant() const { return node_ == kConstant; }

  // The variable without its value, for a backward function that does not read it: what it captures
  // stays in memory until then.
  Var place() const { return Var(value_.without_memory(), node_); }

  const Shape& shape() const { return value_.shape(); }
  size_t size() const { return value_.size(); }
  size_t rows() const { return value_.rows(); }
  size_t cols() const { return value_.cols(); }
  float* data() const { return value_.data(); }
  std::span<float> span() const { return value_.span(); }
  MatrixView<float> matrix() const { return value_.matrix(); }

 private:
  Tensor value_;
  int32_t node_ = kConstant;
};

}  // namespace rapt

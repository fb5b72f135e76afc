// The sizes of a tensor: rank 0 (a scalar) to 4.
#pragma once
#include <array>
#include <cstddef>
#include <initializer_list>
#include <ostream>

#include "rapt/base/check.h"

namespace rapt {

class Shape {
 public:
  static constexpr size_t kMaxRank = 4;

  Shape() = default;
  Shape(std::initializer_list<size_t> sizes) {  // NOLINT: {rows, cols} is a shape
    check(sizes.size() <= kMaxRank, "Shape: rank ", sizes.size(), " is more than ", kMaxRank);
    for (const size_t size : sizes) sizes_[rank_++] = size;
  }

  size_t rank() const { return rank_; }
  size_t operator[](size_t axis) const { return sizes_[axis]; }
  size_t back() const { return rank_ == 0 ? 1 : sizes_[rank_ - 1]; }
  size_t elements() const { return rows() * back(); }
  // The tensor read as a matrix [rows, back]: all axes but the last together.
  size_t rows() const {
    size_t rows = 1;
    for (size_t axis = 0; axis + 1 < rank_; ++axis) rows *= sizes_[axis];
    return rows;
  }
  bool operator==(const Shape&) const = default;

 private:
  std::array<size_t, kMaxRank> sizes_{};
  size_t rank_ = 0;
};

inline std::ostream& operator<<(std::ostream& out, const Shape& shape) {
  out << '[';
  for (size_t axis = 0; axis < shape.rank(); ++axis) out << (axis == 0 ? "" : ", ") << shape[axis];
  return out << ']';
}

}  // namespace rapt

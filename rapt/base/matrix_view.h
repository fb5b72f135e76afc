// A row-major matrix in borrowed memory: what kernels take and give.
#pragma once
#include <cassert>
#include <cstddef>
#include <span>
#include <type_traits>

namespace rapt {

template <class T>
class MatrixView {
 public:
  MatrixView() = default;
  MatrixView(T* data, size_t rows, size_t cols) : MatrixView(data, rows, cols, cols) {}
  MatrixView(T* data, size_t rows, size_t cols, size_t stride)  // stride: floats between two rows
      : data_(data), rows_(rows), cols_(cols), stride_(stride) {
    assert(stride >= cols);
  }
  template <class U>
  requires(std::is_same_v<const U, T>)
      MatrixView(MatrixView<U> other)  // NOLINT: a view of const is what a mutable one converts to
      : MatrixView(other.data(), other.rows(), other.cols(), other.stride()) {}

  T* data() const { return data_; }
  size_t rows() const { return rows_; }
  size_t cols() const { return cols_; }
  size_t stride() const { return stride_; }
  bool contiguous() const { return stride_ == cols_; }
  std::span<T> row(size_t r) const {
    assert(r < rows_);
    return {data_ + r * stride_, cols_};
  }
  MatrixView slice_rows(size_t begin, size_t end) const {
    assert(begin <= end && end <= rows_);
    return {data_ + begin * stride_, end - begin, cols_, stride_};
  }
  MatrixView slice_cols(size_t begin, size_t end) const {
    assert(begin <= end && end <= cols_);
    return {data_ + begin, rows_, end - begin, stride_};
  }

 private:
  T* data_ = nullptr;
  size_t rows_ = 0, cols_ = 0, stride_ = 0;
};

}  // namespace rapt

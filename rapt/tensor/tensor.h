// A contiguous, row-major array of float32 on the CPU: a shared handle, cheap to copy. There are no
// strides and no broadcasting rules. A copy shares the values, so a const Tensor gives mutable
// memory, as a const shared_ptr does.
#pragma once
#include <memory>
#include <span>

#include "rapt/base/matrix_view.h"
#include "rapt/tensor/memory.h"
#include "rapt/tensor/shape.h"

namespace rapt {

enum class DType { kF32 };
enum class Device { kCPU };

class Tensor {
 public:
  Tensor() = default;                    // no memory: empty() is true
  Tensor(MemoryPool& pool, Shape shape)  // not cleared
      : block_(pool.allocate(shape.elements() * sizeof(float))),
        data_(reinterpret_cast<float*>(block_.get()->data())),
        shape_(shape) {}
  static Tensor zeros(Shape shape, MemoryPool& pool = MemoryPool::process());
  static Tensor of(Shape shape, std::span<const float> values,
                   MemoryPool& pool = MemoryPool::process());  // copies
  // Memory from outside, perhaps unaligned; `owner` lives as long as the last handle.
  static Tensor borrow(float* data, Shape shape, std::shared_ptr<void> owner);

  bool empty() const { return data_ == nullptr; }
  DType dtype() const { return DType::kF32; }
  Device device() const { return Device::kCPU; }
  const Shape& shape() const { return shape_; }
  size_t size() const { return data_ == nullptr ? 0 : shape_.elements(); }
  size_t rows() const { return shape_.rows(); }
  size_t cols() const { return shape_.back(); }

  float* data() const { return data_; }
  std::span<float> span() const { return {data_, size()}; }
  MatrixView<float> matrix() const { return {data_, rows(), cols()}; }
  // For those who read elements outside kernels: decoding, insight, files, tests.
  std::span<float> host() const { return span(); }

  Tensor reshape(Shape shape) const;                  // the same memory
  Tensor slice_rows(size_t begin, size_t end) const;  // rows of matrix(), the same memory
  Tensor clone(MemoryPool& pool = MemoryPool::process()) const;
  Tensor without_memory() const {  // its shape alone; empty()
    Tensor t;
    t.shape_ = shape_;
    return t;
  }
  // No other handle sees this memory, so it may be changed in place.
  bool unique() const { return block_.unique(); }

 private:
  BlockRef block_;
  float* data_ = nullptr;
  Shape shape_;
};

}  // namespace rapt

#include "rapt/tensor/tensor.h"

#include <algorithm>

namespace rapt {

Tensor Tensor::zeros(Shape shape, MemoryPool& pool) {
  const Tensor t(pool, shape);
  std::ranges::fill(t.span(), 0.0f);
  return t;
}

Tensor Tensor::of(Shape shape, std::span<const float> values, MemoryPool& pool) {
  check(values.size() == shape.elements(), "Tensor::of: ", values.size(), " values for shape ",
        shape);
  const Tensor t(pool, shape);
  std::ranges::copy(values, t.data());
  return t;
}

Tensor Tensor::borrow(float* data, Shape shape, std::shared_ptr<void> owner) {
  Tensor t;
  t.block_ = BlockRef(new Block);
  t.block_.get()->owner = std::move(owner);
  t.data_ = data;
  t.shape_ = shape;
  return t;
}

Tensor Tensor::reshape(Shape shape) const {
  check(shape.elements() == shape_.elements(), "reshape: ", shape_, " does not fit ", shape);
  Tensor t = *this;
  t.shape_ = shape;
  return t;
}

Tensor Tensor::slice_rows(size_t begin, size_t end) const {
  check(begin <= end && end <= rows(), "slice_rows: rows ", begin, " to ", end, " of ", shape_);
  Tensor t = *this;
  t.data_ = data_ + begin * cols();
  t.shape_ = {end - begin, cols()};
  return t;
}

Tensor Tensor::clone(MemoryPool& pool) const { return of(shape_, span(), pool); }

}  // namespace rapt

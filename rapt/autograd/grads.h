// What the backward function of an operation sees: gradients by variable, and memory.
//   * dy is read-only: a residual hands the same buffer to both of its branches.
//   * Kernels write dx and the tape adds: grads.add(x, dx).
//   * Kernels accumulate into parameters, which are shared: grads.of(w) is zero at first.
#pragma once
#include "rapt/autograd/var.h"
#include "rapt/parallel/pool.h"

namespace rapt {

class Context;

class Grads {
 public:
  explicit Grads(Context& context) : context_(context) {}

  bool wants(const Var& x) const { return !x.constant(); }  // false: dx need not be computed
  Tensor empty(const Var& x) const;                         // of x's shape, not cleared
  Tensor empty(Shape shape) const;
  // The gradient so far, to accumulate into. For a constant it is memory that nobody reads.
  Tensor of(const Var& x) const;
  void add(const Var& x, const Tensor& dx) const;
  // One row of partial sums for each block of kRowBlock rows.
  Tensor partial(size_t rows, size_t n) const { return empty({row_block_count(rows), n}); }
  template <class T>
  Buffer<T> buffer(size_t n) const {
    return Buffer<T>(memory(), n);
  }
  Pool& pool() const;
  MemoryPool& memory() const;

 private:
  Context& context_;
};

}  // namespace rapt

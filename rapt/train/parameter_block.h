// One number for each element of a model's parameters: gradients, moments, averages. All of them lie
// in one block of memory, each parameter's at a multiple of 64 bytes, with zeros between.
#pragma once
#include <vector>

#include "rapt/io/safetensors.h"
#include "rapt/nn/scope.h"

namespace rapt {

class ParameterBlock {
 public:
  // Zeros. `parameters` is borrowed.
  explicit ParameterBlock(const ParameterSet& parameters,
                          MemoryPool& memory = MemoryPool::process());

  const ParameterSet& parameters() const { return *parameters_; }
  const Tensor& operator[](size_t i) const { return tensors_[i]; }  // of parameter i's shape
  std::span<float> all() const { return all_.span(); }
  void clear(Pool& pool) const;

  // By name, each with `prefix`: "exp_avg." gives "exp_avg.encoder.layers.0.linear1.weight".
  void store(TensorMap& tensors, const std::string& prefix) const;
  // Throws IoError with `file` for a tensor that is missing or of another shape.
  void load(const TensorMap& tensors, const std::string& prefix, std::string_view file) const;

 private:
  const ParameterSet* parameters_;
  Tensor all_;
  std::vector<Tensor> tensors_;
};

// f(begin, end) for blocks of the elements of a long array.
template <class F>
void for_element_blocks(size_t size, Pool& pool, const F& f) {
  constexpr size_t kBlock = size_t{1} << 15;
  pool.row_blocks(size, kBlock, f);
}

}  // namespace rapt

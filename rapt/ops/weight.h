// What a model learns: named tensors, and the matrices of linear layers and embeddings.
#pragma once
#include <span>
#include <string>

#include "rapt/kernels/gemm.h"
#include "rapt/tensor/tensor.h"

namespace rapt {

struct Parameter {
  std::string name;
  Tensor value;
  bool decay = true;  // whether weight decay shrinks it

  virtual Shape shape() const { return value.shape(); }

  Parameter() = default;
  virtual ~Parameter() = default;
  Parameter(const Parameter&) = delete;
  Parameter& operator=(const Parameter&) = delete;
};

enum class Precision { kF32 };

// A matrix [out, in]. For inference it can be packed once, for good: the packed form replaces the
// float form, so that a model is in memory once.
class Weight : public Parameter {
 public:
  size_t out() const { return packed() ? packed_.n : value.shape()[0]; }
  size_t in() const { return packed() ? packed_.k : value.shape()[1]; }

  Shape shape() const override { return {out(), in()}; }

  // `value` is empty afterwards. Does nothing the second time.
  void pack(Precision precision, Pool& pool);
  void pack(Precision precision);  // on this thread
  bool packed() const { return packed_.data != nullptr; }
  const kernels::PackedB& packed_form() const { return packed_; }

  // Row i, packed or not: the embedding of symbol i.
  void row(size_t i, std::span<float> out) const;

  // The float form; throws InvalidArgument if the weight is packed, for it cannot be trained.
  const Tensor& unpacked() const;

 private:
  Tensor storage_;  // of the packed form
  kernels::PackedB packed_;
};

}  // namespace rapt

#include "rapt/ops/weight.h"

#include <algorithm>

#include "rapt/base/check.h"

namespace rapt {

void Weight::pack(Precision, Pool& pool) {
  if (packed()) return;
  check(value.shape().rank() == 2, "pack: ", name, " is ", value.shape(), ", expected a matrix");
  const size_t floats = kernels::PackedB::floats(out(), in());
  const Tensor storage(MemoryPool::process(), {floats});
  packed_ = kernels::pack_b(kernels::Op::kNT, value.matrix(), storage.span(), pool);
  storage_ = storage;
  value = Tensor();
}

void Weight::pack(Precision precision) {
  Pool here(1);
  pack(precision, here);
}

void Weight::row(size_t i, std::span<float> to) const {
  check(i < out(), name, ": row ", i, " of ", out());
  check(to.size() == in(), name, ": ", to.size(), " floats for a row of ", in());
  if (packed()) {
    for (size_t k = 0; k < to.size(); ++k) to[k] = packed_.at(k, i);
  } else {
    std::ranges::copy(value.matrix().row(i), to.begin());
  }
}

const Tensor& Weight::unpacked() const {
  check(!packed(), name, " is packed for inference: load the model again to train it");
  return value;
}

}  // namespace rapt

#include "rapt/kernels/partials.h"

namespace rapt::kernels {

void add_partials(MatrixView<const float> partial, std::span<float> total, Pool& pool) {
  constexpr size_t kColumns = 256;
  pool.row_blocks(total.size(), kColumns, [&](size_t begin, size_t end) {
    for (size_t b = 0; b < partial.rows(); ++b) {
      const float* from = partial.row(b).data();
      for (size_t i = begin; i < end; ++i) total[i] += from[i];
    }
  });
}

}  // namespace rapt::kernels

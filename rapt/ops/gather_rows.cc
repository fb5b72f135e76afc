#include "rapt/ops/gather_rows.h"

#include <algorithm>

#include "rapt/kernels/gather_rows.h"

namespace rapt::ops {

Var gather_rows(Context& ctx, const Var& x, std::span<const int32_t> index) {
  const Buffer<int32_t> kept = ctx.buffer<int32_t>(index.size());
  for (size_t r = 0; r < index.size(); ++r) {
    check(index[r] >= 0 && static_cast<size_t>(index[r]) < x.rows(), "gather_rows: index ",
          index[r], " at ", r, ", expected one of ", x.rows(), " rows");
    kept[r] = index[r];
  }
  const Tensor y = ctx.empty({index.size(), x.cols()});
  kernels::gather_rows(x.matrix(), kept.span(), y.matrix(), ctx.pool());
  return ctx.record("gather_rows", y, [x = x.place(), kept](const Tensor& dy, Grads& grads) {
    if (!grads.wants(x)) return;
    kernels::scatter_add_rows(dy.matrix(), kept.span(), 1.0f, {}, grads.of(x).matrix(),
                              grads.pool());
  });
}

}  // namespace rapt::ops

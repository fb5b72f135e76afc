// The promise that a result does not depend on the number of threads, nor on which CPU with fused
// multiply-add made it.
#pragma once
#include "rapt/testing/expect.h"

namespace rapt::testing {

// y and the gradients of all inputs, in this order, have the same bits with 1, 2 and 3 threads and on
// every SIMD target with FMA. op: Var(Context&, const Var&...).
template <class Op, size_t N>
void expect_same_bits_everywhere(const Op& op, const Shape (&shapes)[N],
                                 Mode mode = Mode::kTraining) {
  const std::array<Tensor, N> inputs = detail::random_inputs(shapes);
  std::vector<Tensor> first;
  const auto run = [&]<size_t... I>(size_t threads, std::index_sequence<I...>) {
    Pool pool(threads);
    Context ctx(mode, pool, 17, 3);
    const Var y = op(ctx, ctx.leaf(inputs[I])...);
    ctx.backward(y, random_tensor(y.shape(), 1000));
    return std::vector<Tensor>{y.value(), ctx.gradient(inputs[I])...};
  };
  for (const int64_t target : fma_targets()) {
    on_simd_target(target, [&] {
      for (const size_t threads : {1, 2, 3}) {
        SCOPED_TRACE(::testing::Message() << threads << " threads");
        const std::vector<Tensor> now = run(threads, std::make_index_sequence<N>());
        if (first.empty()) first = now;
        for (size_t i = 0; i < now.size(); ++i) {
          SCOPED_TRACE(::testing::Message() << (i == 0 ? "y" : "gradient of an input"));
          expect_same_bits(now[i], first[i]);
        }
      }
    });
  }
}

}  // namespace rapt::testing

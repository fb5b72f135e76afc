// Shows an observer a variable: its value now, as Context::watch() does, and in the backward pass
// its gradient, under "<name>.gradient". Whoever reads the result instead of x is part of that
// gradient; the bits of values and of the model's gradients stay what they are.
#pragma once
#include <string>
#include <string_view>

#include "rapt/autograd/context.h"

namespace rapt {

inline Var watched(Context& ctx, std::string_view name, const Var& x) {
  if (!ctx.observed()) return x;
  ctx.watch(name, x.value());
  return ctx.record(
      "watch", x.value(),
      [&ctx, x = x.place(), name = concat(name, ".gradient")](const Tensor& dy, Grads& grads) {
        ctx.watch(name, dy);
        grads.add(x, dy);
      });
}

}  // namespace rapt

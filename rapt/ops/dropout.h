// Inverted dropout (Srivastava et al., 2014): y = m * x / (1 - p), m = 0 with probability p.
//   dx = m * dy / (1 - p)
// The bits are those of the token (sentence id, position) and the site: nothing is saved, the
// backward pass draws them again.
#pragma once
#include "rapt/autograd/context.h"
#include "rapt/base/lengths.h"

namespace rapt {

struct Dropout {
  double p = 0;       // in [0, 1)
  uint32_t site = 0;  // Scope::site of the module that drops
  // What applies in this context: nothing outside of training.
  DropRate rate(const Context& ctx) const { return ctx.training() ? DropRate::of(p) : DropRate(); }
};

namespace ops {

// x [rows, d]; rows are those of `lengths`. Without dropout x itself.
Var dropout(Context& ctx, const Var& x, const Lengths& lengths, const Dropout& dropout);

}  // namespace ops
}  // namespace rapt

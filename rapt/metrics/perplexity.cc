#include "rapt/metrics/perplexity.h"

#include "rapt/base/check.h"
#include "rapt/base/scalar_math.h"

namespace rapt::metrics {

double loss_per_token(double log_probability, uint64_t tokens) {
  check(tokens > 0, "loss: 0 tokens, expected at least one");
  return -log_probability / static_cast<double>(tokens);
}

double perplexity(double loss) { return scalar::exp(loss); }

}  // namespace rapt::metrics

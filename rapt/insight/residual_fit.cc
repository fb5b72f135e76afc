#include "rapt/insight/residual_fit.h"

#include <algorithm>
#include <cmath>

#include "rapt/base/random.h"
#include "rapt/insight/draws.h"
#include "rapt/nn/feed_forward.h"
#include "rapt/ops/add.h"
#include "rapt/train/gradients.h"
#include "rapt/train/optimizer.h"

namespace rapt::insight {
namespace {

nn::LayerOptions sizes(const FitOptions& o) { return {.d_model = o.width, .d_ff = 4 * o.width}; }

// sign x + change G(x). The last matrix of G is scaled so that its outputs have a variance of 1 for
// the first batch.
class Target {
 public:
  Target(const FitOptions& o, double sign, uint64_t seed)
      : set_(op_key(seed, Stream::kInit, site_of("residual.target"), 0)),
        g_(Scope(set_, "target"), sizes(o)),
        sign_(static_cast<float>(sign)),
        change_(static_cast<float>(o.change)) {}

  Tensor operator()(const Tensor& x, Pool& pool) {
    Context ctx(Mode::kInference, pool);
    const Tensor y = g_(ctx, x, Lengths::single(x.rows())).value();
    if (scale_ == 0) {
      scale_ =
          static_cast<float>(std::sqrt(static_cast<double>(y.size()) / dot(y.host(), y.host())));
    }
    for (size_t i = 0; i < y.size(); ++i) {
      y.host()[i] = sign_ * x.host()[i] + change_ * scale_ * y.host()[i];
    }
    return y;
  }

 private:
  ParameterSet set_;
  nn::FeedForward g_;
  float sign_, change_, scale_ = 0;
};

}  // namespace

std::vector<double> fit(const FitOptions& o, double sign, bool residual, uint64_t seed,
                        Pool& pool) {
  Target target(o, sign, seed);
  ParameterSet parameters(seed);
  const nn::FeedForward f(Scope(parameters, "f"), sizes(o));
  TrainOptions options;
  options.clip_norm = 0;
  const Optimizer optimizer(parameters, options);
  GradientSum gradient(parameters);
  Context ctx(Mode::kTraining, pool);

  const uint64_t key = draw_key(seed, "residual.fit");
  const Tensor x(MemoryPool::process(), {o.batch, o.width});
  std::vector<double> losses;
  for (uint64_t step = 1; step <= o.steps; ++step) {
    fill_normal(x.host(), key, 0, 1, (step - 1) * x.size());
    const Tensor h = target(x, pool);
    ctx.clear(step);
    gradient.run(ctx, 1, [&](size_t) {
      const Var fx = f(ctx, x, Lengths::single(x.rows()));
      const Var y = residual ? ops::add(ctx, x, fx) : fx;
      const Tensor error =
          ctx.empty(y.shape());  // first the error, then the gradient of its square
      for (size_t i = 0; i < error.size(); ++i) error.host()[i] = y.data()[i] - h.host()[i];
      const auto n = static_cast<double>(error.size());
      losses.push_back(dot(error.host(), error.host()) / n);
      for (float& v : error.host()) v *= static_cast<float>(2 / n);
      ctx.backward(y, error);
    });
    optimizer.update(gradient.total(), 0, o.lr, step, pool);
  }
  return losses;
}

}  // namespace rapt::insight

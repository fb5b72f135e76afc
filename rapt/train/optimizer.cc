#include "rapt/train/optimizer.h"

#include <algorithm>
#include <cmath>

#include "rapt/kernels/adam.h"
#include "rapt/kernels/sum_squares.h"

namespace rapt {

Optimizer::Optimizer(ParameterSet& parameters, const TrainOptions& options, MemoryPool& memory)
    : parameters_(parameters),
      options_(options),
      first_(parameters, memory),
      second_(parameters, memory) {
  if (options.ema_decay == 0) return;
  average_.emplace(parameters, memory);
  for (size_t i = 0; i < parameters.size(); ++i) {
    std::ranges::copy(parameters[i].value.span(), (*average_)[i].span().begin());
  }
}

void Optimizer::update(const ParameterBlock& gradient, double norm, double lr, uint64_t t,
                       Pool& pool) const {
  kernels::AdamArgs args{.lr = lr, .beta1 = options_.beta1, .beta2 = options_.beta2};
  args.eps = options_.eps;
  args.decoupled = options_.optimizer == OptimizerKind::kAdamW;
  args.grad_scale =
      options_.clip_norm > 0 ? std::min(1.0, options_.clip_norm / (norm + 1e-6)) : 1.0;
  const auto count = static_cast<double>(t);
  args.ema_decay = std::min(options_.ema_decay, (1 + count) / (10 + count));
  args.step = t;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Parameter& parameter = parameters_[i];
    const bool decays = parameter.decay || options_.decay == Decay::kAll;
    args.weight_decay = decays ? options_.weight_decay : 0;
    kernels::adam(args,
                  {.p = parameter.value.span(),
                   .gradient = gradient[i].span(),
                   .m = first_[i].span(),
                   .v = second_[i].span(),
                   .ema = average_ ? (*average_)[i].span() : std::span<float>()},
                  pool);
  }
}

void Optimizer::swap_average() const {
  if (!average_) return;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    std::ranges::swap_ranges(parameters_[i].value.span(), (*average_)[i].span());
  }
}

void Optimizer::store(TensorMap& tensors) const {
  first_.store(tensors, "exp_avg.");
  second_.store(tensors, "exp_avg_sq.");
}

void Optimizer::load(const TensorMap& tensors, std::string_view file) const {
  first_.load(tensors, "exp_avg.", file);
  second_.load(tensors, "exp_avg_sq.", file);
}

double norm_of(const ParameterBlock& gradient, Pool& pool) {
  return std::sqrt(kernels::sum_squares(gradient.all(), pool));
}

}  // namespace rapt

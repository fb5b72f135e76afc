#include "rapt/train/optimizer.h"

#include <algorithm>
#include <cmath>

#include "rapt/base/scalar_math.h"

namespace rapt {

Optimizer::Optimizer(ParameterSet& parameters, const TrainOptions& options, MemoryPool& memory)
    : parameters_(parameters),
      options_(options),
      first_(parameters, memory),
      second_(parameters, memory) {}

void Optimizer::update(const ParameterBlock& gradient, double norm, double lr, uint64_t t,
                       Pool& pool) const {
  const double clip =
      options_.clip_norm > 0 ? std::min(1.0, options_.clip_norm / (norm + 1e-6)) : 1;
  const double bias1 = 1 - scalar::pow(options_.beta1, static_cast<double>(t));
  const double bias2 = 1 - scalar::pow(options_.beta2, static_cast<double>(t));
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Parameter& parameter = parameters_[i];
    const double decay =
        parameter.decay || options_.decay == Decay::kAll ? options_.weight_decay : 0;
    const bool apart = options_.optimizer == OptimizerKind::kAdamW;
    float *w = parameter.value.data(), *g = gradient[i].data(), *m = first_[i].data(),
          *v = second_[i].data();
    const auto b1 = static_cast<float>(options_.beta1), b2 = static_cast<float>(options_.beta2);
    const auto scale = static_cast<float>(clip), eps = static_cast<float>(options_.eps);
    const auto shrink = static_cast<float>(apart ? 1 - lr * decay : 1);
    const auto coupled = static_cast<float>(apart ? 0 : decay);
    const auto step = static_cast<float>(lr / bias1);
    const auto root = static_cast<float>(1 / std::sqrt(bias2));
    for_element_blocks(parameter.value.size(), pool, [&](size_t begin, size_t end) {
      for (size_t j = begin; j < end; ++j) {
        const float x = scale * g[j] + coupled * w[j];
        m[j] = b1 * m[j] + (1 - b1) * x;
        v[j] = b2 * v[j] + (1 - b2) * x * x;
        w[j] = shrink * w[j] - step * m[j] / (std::sqrt(v[j]) * root + eps);
        g[j] = 0;
      }
    });
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

double norm_of(const ParameterBlock& gradient, Pool&) {
  double sum = 0;
  for (const float x : gradient.all()) sum += static_cast<double>(x) * static_cast<double>(x);
  return std::sqrt(sum);
}

}  // namespace rapt

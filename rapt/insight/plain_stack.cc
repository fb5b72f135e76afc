#include "rapt/insight/plain_stack.h"

#include <algorithm>

#include "rapt/base/options.h"

namespace rapt::insight {
namespace {

std::string layer_name(size_t i) { return concat("layers.", i, '.'); }

}  // namespace

Tensor sum(const Tensor& x, const Tensor& y) {
  const Tensor z = x.clone();
  std::ranges::transform(x.host(), y.host(), z.host().begin(), std::plus<>());
  return z;
}

Tensor affine(const Tensor& x, const Tensor& weight, const Tensor& bias, size_t first, size_t out) {
  const Tensor y(MemoryPool::process(), {x.rows(), out});
  for (size_t r = 0; r < x.rows(); ++r) {
    for (size_t o = 0; o < out; ++o) {
      const std::span<const float> row = x.matrix().row(r), w = weight.matrix().row(first + o);
      double v = static_cast<double>(bias.host()[first + o]);
      for (size_t i = 0; i < row.size(); ++i) v += static_cast<double>(row[i]) * w[i];
      y.matrix().row(r)[o] = static_cast<float>(v);
    }
  }
  return y;
}

PlainStack::PlainStack(const nn::LayerOptions& options, size_t layers, uint64_t seed, Pool& pool)
    : options_(options), parameters_(seed), pool_(pool) {
  const Scope root(parameters_);
  for (size_t i = 0; i < layers; ++i) {
    const Scope scope = root / "layers" / std::to_string(i);
    layers_.push_back(
        {nn::MultiHeadAttention(scope / "self_attn", options), nn::FeedForward(scope, options)});
  }
}

Tensor PlainStack::attention(size_t i, const Tensor& x) const {
  Context ctx(Mode::kInference, pool_);
  return layers_[i].attention(ctx, x, Lengths::single(x.rows()), ops::Band::none()).value();
}

Tensor PlainStack::feed_forward(size_t i, const Tensor& x) const {
  Context ctx(Mode::kInference, pool_);
  return layers_[i].feed_forward(ctx, x, Lengths::single(x.rows())).value();
}

Tensor PlainStack::weights(size_t i, const Tensor& x) const {
  Context ctx(Mode::kInference, pool_);
  Tensor seen;
  const std::string name = layer_name(i) + "self_attn.weights";
  ctx.observe([&](std::string_view watched, const Tensor& value) {
    if (watched == name) seen = value.clone();
  });
  layers_[i].attention(ctx, x, Lengths::single(x.rows()), ops::Band::none());
  return seen;
}

Tensor PlainStack::attention_held(size_t i, const Tensor& x, const Tensor& weights) const {
  const std::string name = layer_name(i) + "self_attn.";
  const size_t n = x.rows(), d = options_.d_model, width = d / options_.heads;
  const Tensor values =
      affine(x, parameter(name + "in_proj_weight"), parameter(name + "in_proj_bias"), 2 * d, d);
  const Tensor mixed(MemoryPool::process(), {n, d});
  for (size_t query = 0; query < n; ++query) {
    for (size_t column = 0; column < d; ++column) {
      const std::span<const float> shares =
          weights.host().subspan((column / width * n + query) * n, n);
      double v = 0;
      for (size_t key = 0; key < n; ++key) {
        v += static_cast<double>(shares[key]) * values.matrix().row(key)[column];
      }
      mixed.matrix().row(query)[column] = static_cast<float>(v);
    }
  }
  return affine(mixed, parameter(name + "out_proj.weight"), parameter(name + "out_proj.bias"), 0,
                d);
}

template <class Attend>
Tensor PlainStack::through(const Tensor& x, const Attend& attend) const {
  Tensor y = x;
  for (size_t i = 0; i < layers_.size(); ++i) {
    y = sum(y, attend(i, y));
    y = sum(y, feed_forward(i, y));
  }
  return y;
}

Tensor PlainStack::run(const Tensor& x) const {
  return through(x, [&](size_t i, const Tensor& y) { return attention(i, y); });
}

std::vector<Tensor> PlainStack::weights(const Tensor& x) const {
  std::vector<Tensor> all;
  through(x, [&](size_t i, const Tensor& y) {
    all.push_back(weights(i, y));
    return attention(i, y);
  });
  return all;
}

Tensor PlainStack::run_held(const Tensor& x, std::span<const Tensor> weights) const {
  return through(x, [&](size_t i, const Tensor& y) { return attention_held(i, y, weights[i]); });
}

}  // namespace rapt::insight

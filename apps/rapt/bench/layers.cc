// Norms, feed-forward, loss and optimiser: what tools/peers/torch_layers.py does, by rapt.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "apps/rapt/bench/arrays.h"
#include "apps/rapt/bench/bench.h"
#include "apps/rapt/bench/measure.h"
#include "rapt/kernels/adam.h"
#include "rapt/kernels/add_norm.h"
#include "rapt/kernels/cross_entropy.h"
#include "rapt/kernels/layer_norm.h"
#include "rapt/kernels/softmax.h"
#include "rapt/nn/feed_forward.h"

namespace rapt::app::bench {
namespace {

constexpr size_t kWidth = 512;

double average(std::span<const float> x) {
  return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}
double squares(std::span<const float> x) {
  return std::inner_product(x.begin(), x.end(), x.begin(), 0.0) / static_cast<double>(x.size());
}

struct Group {
  const Options& options;
  Pool& pool;
  Machine& machine;
  size_t rows() const { return options.small ? 200 : 6400; }
  void run(const std::vector<Case>& cases) const {
    run_cases(cases, options.rounds_or(9), options.threads, machine);
  }
};

void norms(const Group& g) {
  Pool& pool = g.pool;
  const size_t n = g.rows(), last = n - 1;
  const Shape shape = {n, kWidth};
  const Tensor x = random_tensor("x", shape), sub = random_tensor("y", shape);
  const Tensor dy = random_tensor("dy", shape), s = Tensor::zeros(shape), y = Tensor::zeros(shape);
  const Tensor dx = Tensor::zeros(shape), dsub = Tensor::zeros(shape);
  const Tensor gamma = Tensor::zeros({kWidth}), beta = Tensor::zeros({kWidth});
  const Tensor dgamma = Tensor::zeros({kWidth}), dbeta = Tensor::zeros({kWidth});
  const Tensor partial = Tensor::zeros({row_block_count(n), 2 * kWidth});
  const Tensor mean = Tensor::zeros({n}), rstd = Tensor::zeros({n});
  const Tensor p = random_tensor("p", {12800, 100}), softmax = Tensor::zeros({12800, 100});
  std::ranges::fill(gamma.host(), 1.0f);
  const kernels::NormStats stats{mean.span(), rstd.span()};
  const Lengths tokens = Lengths::single(n);
  const kernels::RowDropout dropout{7, DropRate::of(0.1), &tokens};

  const auto norm = [&] {
    kernels::layer_norm(x.matrix(), gamma.span(), beta.span(), 1e-5f, y.matrix(), stats, pool);
  };
  const auto norm_back = [&] {
    kernels::layer_norm_backward(x.matrix(), gamma.span(), stats, dy.matrix(), dx.matrix(),
                                 dgamma.span(), dbeta.span(), partial.matrix(), pool);
  };
  const auto add_norm = [&] {
    kernels::add_norm(1.0f, x.matrix(), sub.matrix(), dropout, gamma.span(), beta.span(), 1e-5f,
                      s.matrix(), y.matrix(), stats, pool);
  };
  const auto add_norm_back = [&] {
    kernels::add_norm_backward(
        1.0f, s.matrix(), gamma.span(), stats, dy.matrix(), {}, dropout,
        {dx.matrix(), dsub.matrix(), dgamma.span(), dbeta.span(), partial.matrix()}, pool);
  };
  const auto is_normal = [&](const std::string& what) {
    const std::span<const float> row = y.matrix().row(last);
    check_result(std::abs(average(row)) < 1e-5 && std::abs(squares(row) - 1) < 1e-3, what);
    // dx has neither a mean nor a part along y.
    const std::span<const float> d = dx.matrix().row(last);
    check_result(std::abs(average(d)) < 1e-5 &&
                     std::abs(std::inner_product(d.begin(), d.end(), row.begin(), 0.0)) < 1e-2,
                 what + " backward");
  };
  norm(), norm_back(), is_normal("layer_norm");
  add_norm(), add_norm_back(), is_normal("dropout_add_norm");
  kernels::softmax(p.matrix(), softmax.matrix(), pool);
  check_result(std::abs(average(softmax.matrix().row(12799)) * 100 - 1) < 1e-5, "softmax");

  const Json rows{{"rows", n}, {"width", kWidth}};
  g.run({{"layer_norm_forward", norm, rows},
         {"layer_norm_backward", norm_back, rows},
         {"dropout_add_norm_forward", add_norm, rows},
         {"dropout_add_norm_backward", add_norm_back, rows},
         {"dropout_forward", [&] { kernels::dropout(sub.matrix(), dropout, y.matrix(), pool); },
          rows},
         {"softmax_forward_12800x100",
          [&] { kernels::softmax(p.matrix(), softmax.matrix(), pool); },
          {{"rows", 12800}, {"width", 100}}}});
}

void feed_forward(const Group& g) {
  ParameterSet parameters(1);
  const nn::LayerOptions layer{.d_model = 512, .d_ff = 2048, .dropout_activation = 0.1f};
  const nn::FeedForward net(Scope(parameters) / "layer", layer);
  const size_t rows = g.rows();
  const Tensor x = random_tensor("x", {rows, 512}), dy = random_tensor("dy", {rows, 512});
  const Lengths tokens = Lengths::of(std::vector<uint32_t>(rows / 100, 100));
  Context training(Mode::kTraining, g.pool, 1), inference(Mode::kInference, g.pool);
  const auto forward = [&] {
    training.clear();
    return net(training, training.leaf(x), tokens);
  };
  const auto both = [&] { training.backward(forward(), dy); };

  // y is linear in its last bias, so the gradient there is the sum of dy.
  both();
  const Tensor bias = training.gradient(parameters.find("layer.linear2.bias")->value);
  double sum = 0;
  for (size_t r = 0; r < rows; ++r) sum += static_cast<double>(dy.matrix().row(r)[5]);
  check_result(std::abs(sum - static_cast<double>(bias.host()[5])) < 1e-2, "feed_forward");

  const double flops = 2.0 * static_cast<double>(rows) * 512 * 2048 * 2;
  const Json shape{{"B", rows / 100}, {"T", 100}, {"d_model", 512}, {"d_ff", 2048}};
  g.run({{"feed_forward_eval", [&] { net(inference, x, tokens); }, shape, flops},
         {"feed_forward_train_forward", forward, shape, flops},
         {"feed_forward_train_forward_backward", both, shape, 3 * flops}});
}

void loss(const Group& g) {
  using Sizes = std::vector<std::pair<size_t, size_t>>;
  for (const auto& [rows, classes] :
       g.options.small ? Sizes{{10, 97}} : Sizes{{1024, 32000}, {4096, 9712}}) {
    const Tensor logits = random_tensor("logits", {rows, classes});
    std::vector<int32_t> targets(rows);
    for (size_t i = 0; i < rows; ++i) targets[i] = static_cast<int32_t>(i * 7919 % classes);
    std::vector<double> smoothed(rows), nll(rows);
    const float u = 0.1f / static_cast<float>(classes);
    const kernels::SmoothingWeights weights{0.1f, u};
    // With a gradient the logits become it: the exponentials are those of other numbers then, and
    // take the same time.
    const auto run = [&](bool gradient) {
      kernels::cross_entropy(logits.matrix(), targets, weights, gradient, {smoothed, nll}, g.pool);
    };
    double sum = 0;
    for (const float z : logits.matrix().row(0)) sum += std::exp(static_cast<double>(z));
    const auto first = static_cast<double>(logits.matrix().row(0)[static_cast<size_t>(targets[0])]);
    run(true);
    check_result(std::abs(std::log(sum) - first - nll[0]) < 1e-4, "cross_entropy");
    check_result(std::abs(average(logits.matrix().row(0))) < 1e-7, "cross_entropy backward");
    const Json shape{{"rows", rows}, {"vocabulary", classes}};
    g.run(
        {{concat("cross_entropy_smoothed_forward_", classes), [&] { run(false); }, shape},
         {concat("cross_entropy_smoothed_forward_backward_", classes), [&] { run(true); }, shape}});
  }
}

// One step over 60 million parameters in the shapes of a base Transformer; gradients are zero after.
void optimizer(const Group& g) {
  std::vector<size_t> sizes;
  if (!g.options.small) sizes.push_back(size_t{32000} * 512);
  for (size_t i = 0; i < (g.options.small ? 0 : 14); ++i) {
    for (const size_t n : {2048 * 512, 512 * 2048, 1536 * 512, 512 * 512}) sizes.push_back(n);
  }
  sizes.insert(sizes.end(), 60, 512);
  struct Weights {
    Tensor p, gradient, m, v;
  };
  std::vector<Weights> weights;
  size_t count = 0;
  for (const size_t n : sizes) {
    weights.push_back(
        {random_tensor("p", {n}), random_tensor("g", {n}), Tensor::zeros({n}), Tensor::zeros({n})});
    count += n;
  }
  const auto step = [&](bool decoupled) {
    for (const Weights& w : weights) {
      kernels::adam({.weight_decay = decoupled ? 0.01 : 0.0, .decoupled = decoupled},
                    {w.p.span(), w.gradient.span(), w.m.span(), w.v.span()}, g.pool);
    }
  };
  // The first step moves every weight by lr against the sign of its gradient.
  const Weights& w = weights.back();
  const float before = w.p.host()[3], sign = w.gradient.host()[3] > 0 ? 1.0f : -1.0f;
  step(false);
  check_result(std::abs(before - 1e-3f * sign - w.p.host()[3]) < 1e-6f, "adam");
  check_result(w.gradient.host()[3] == 0, "adam: reset of the gradient");

  std::vector<Case> cases = {{"adam_fused", [&] { step(false); }, {{"parameters", count}}},
                             {"adamw_fused", [&] { step(true); }, {{"parameters", count}}}};
  const std::vector<Timing> timings = interleave(cases, g.options.rounds_or(9));
  for (size_t i = 0; i < cases.size(); ++i) {
    cases[i].more = {{"ns_per_parameter", 1e6 * timings[i].ms / static_cast<double>(count)}};
    emit(line_of(cases[i], timings[i], g.options.threads, g.machine));
  }
}

}  // namespace

void run_layers(const Options& options) {
  Pool pool(options.threads);
  Machine machine(pool);
  const Group group{options, pool, machine};
  norms(group);
  feed_forward(group);
  loss(group);
  optimizer(group);
  machine.emit();
}

}  // namespace rapt::app::bench

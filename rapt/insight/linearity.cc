#include "rapt/insight/linearity.h"

#include <cmath>

#include "rapt/insight/draws.h"

namespace rapt::insight {
namespace {

constexpr size_t kDraws = 2;

Tensor scaled(const Tensor& x, double factor) {
  const Tensor y = x.clone();
  for (float& v : y.host()) v *= static_cast<float>(factor);
  return y;
}

// Linear combination of the squares of a - b - c + d and of a - d.
struct Squares {
  double defect = 0, whole = 0;

  void add(const Tensor& a, const Tensor& b, const Tensor& c, const Tensor& d) {
    for (size_t i = 0; i < a.size(); ++i) {
      const double all = static_cast<double>(a.host()[i]) - d.host()[i];
      const double parts = (static_cast<double>(b.host()[i]) - d.host()[i]) +
                           (static_cast<double>(c.host()[i]) - d.host()[i]);
      defect += (all - parts) * (all - parts);
      whole += all * all;
    }
  }
};

// W2 (W1 x + b1) + b2 by the one matrix W2 W1 and the one bias W2 b1 + b2.
Tensor by_one_matrix(const PlainStack& stack, const Tensor& x) {
  const auto part = [&](std::string_view name) {
    return stack.parameter(concat("layers.0.", name));
  };
  const Tensor w1 = part("linear1.weight"), w2 = part("linear2.weight");
  const Tensor none = Tensor::zeros({w1.cols()});
  Tensor columns(MemoryPool::process(), {w1.cols(), w1.rows()});  // W1 transposed
  for (size_t i = 0; i < w1.rows(); ++i) {
    for (size_t j = 0; j < w1.cols(); ++j) columns.matrix().row(j)[i] = w1.matrix().row(i)[j];
  }
  // Rows of W2 times rows of W1 transposed: W2 W1.
  const Tensor both = affine(w2, columns, none, 0, w1.cols());
  const Tensor b1 = part("linear1.bias").reshape({1, w1.rows()});
  return affine(x, both, affine(b1, w2, part("linear2.bias"), 0, w2.rows()).reshape({w2.rows()}), 0,
                w2.rows());
}

}  // namespace

double curvature(const Map& f, Shape shape, double scale, size_t draws, uint64_t key) {
  const Tensor zero = f(Tensor::zeros(shape));
  Squares squares;
  for (size_t draw = 0; draw < draws; ++draw) {
    const auto drawn = [&](size_t i) {
      const Tensor x(MemoryPool::process(), shape);
      draw_vector(x.host(), key, 2 * draw + i, {});
      return scaled(x, scale);
    };
    const Tensor x = drawn(0), y = drawn(1);
    squares.add(f(sum(x, y)), f(x), f(y), zero);
  }
  return std::sqrt(squares.defect / squares.whole);
}

double distance(const Tensor& x, const Tensor& y) {
  double apart = 0, whole = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double d = static_cast<double>(x.host()[i]) - y.host()[i];
    apart += d * d;
    whole += static_cast<double>(y.host()[i]) * y.host()[i];
  }
  return std::sqrt(apart / whole);
}

Linearity measure_linearity(const nn::LayerOptions& sizes, size_t positions, size_t layers,
                            uint64_t seed, Pool& pool) {
  nn::LayerOptions linear_sizes = sizes, relu_sizes = sizes;
  linear_sizes.activation = kernels::Activation::kNone;
  relu_sizes.activation = kernels::Activation::kRelu;
  const PlainStack linear(linear_sizes, layers, seed, pool), relu(relu_sizes, layers, seed, pool);
  const Shape shape = {positions, sizes.d_model};
  const uint64_t key = draw_key(seed, "linearity.inputs");
  Tensor other(MemoryPool::process(), shape);  // the sentence whose weights are held
  draw_vector(other.host(), draw_key(seed, "linearity.held"), 0, {});

  Linearity l;
  l.scales = {0.1, 0.3, 1, 3, 10};
  for (const double scale : l.scales) {
    const auto of = [&](const Map& f) { return curvature(f, shape, scale, kDraws, key); };
    const Tensor held = linear.weights(0, scaled(other, scale));
    l.linear_ffn.push_back(of([&](const Tensor& x) { return linear.feed_forward(0, x); }));
    l.relu_ffn.push_back(of([&](const Tensor& x) { return relu.feed_forward(0, x); }));
    l.held_attention.push_back(
        of([&](const Tensor& x) { return linear.attention_held(0, x, held); }));
    l.attention.push_back(of([&](const Tensor& x) { return linear.attention(0, x); }));
  }
  const std::vector<Tensor> held = linear.weights(other);
  const auto of = [&](const Map& f) { return curvature(f, shape, 1, 1, key); };
  l.held_stack = of([&](const Tensor& x) { return linear.run_held(x, held); });
  l.linear_stack = of([&](const Tensor& x) { return linear.run(x); });
  l.relu_stack = of([&](const Tensor& x) { return relu.run(x); });
  l.one_matrix = distance(linear.feed_forward(0, other), by_one_matrix(linear, other));
  l.held_itself = distance(linear.attention_held(0, other, held[0]), linear.attention(0, other));
  return l;
}

}  // namespace rapt::insight

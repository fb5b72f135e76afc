// How far the parts of a layer are from linear maps.
#pragma once
#include <functional>
#include <vector>

#include "rapt/insight/plain_stack.h"

namespace rapt::insight {

using Map = std::function<Tensor(const Tensor&)>;

// Of random x and y [positions, d_model], components normal with deviation `scale`:
//   |f(x + y) - f(x) - f(y) + f(0)| / |f(x + y) - f(0)|,
// root mean square over the draws: 0 for a linear map, also with a bias.
double curvature(const Map& f, Shape shape, double scale, size_t draws, uint64_t key);

// |x - y| / |y|, Frobenius.
double distance(const Tensor& x, const Tensor& y);

struct Linearity {
  std::vector<double> scales;  // of the input
  // Curvature at each scale of a layer's parts.
  std::vector<double> linear_ffn, relu_ffn, held_attention, attention;
  // At scale 1, of stacks with linear feed-forward networks, and of one with ReLU.
  double held_stack, linear_stack, relu_stack;
  // Between a feed-forward network without activation and the one matrix W2 W1.
  double one_matrix;
  // Between attention, and attention with the weights held that it has itself.
  double held_itself;
};
Linearity measure_linearity(const nn::LayerOptions& sizes, size_t positions, size_t layers,
                            uint64_t seed, Pool& pool);

}  // namespace rapt::insight

// The gradient's way through a chain of maps without and with residual connections.
//   one number   each map has the slope f:         product of f,  and of 1 + f
//   a vector     each map is x -> f W x, W random:  v <- f W^T v,  and v <- v + f W^T v
// W is [width, width] with components of variance 1 / width, so that |W^T v| = |v| on average: the
// expected growth of |v| by layer is f without the residual and sqrt(1 + f^2) with it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rapt::insight {

struct Chain {
  std::vector<double> without, with;  // size of the gradient after 0, 1, … layers; 1 at first
};
Chain number_chain(double slope, size_t layers);
Chain vector_chain(double factor, size_t layers, size_t width, uint64_t key);

}  // namespace rapt::insight

// What passes through a stack of layers, forward and backward, as its residual connections show it
// to an observed context (nn/add_norm.h).
#pragma once
#include <vector>

#include "rapt/insight/training.h"

namespace rapt::insight {

// Of one sub-layer y = … x … F(x) …, all [rows, d_model].
struct SubLayerView {
  Tensor x, fx;             // what comes in, and what F makes of it
  Tensor dx, dx_through_f;  // gradient of the loss at x: whole, and the part that F passes on
};

struct StackView {
  std::vector<SubLayerView> sub_layers;  // attention and feed-forward in turn
  Tensor y;                              // of the last layer
  size_t layers() const { return sub_layers.size() / 2; }
  const Tensor& input(size_t layer) const {  // `layers()`: y
    return layer == layers() ? y : sub_layers[2 * layer].x;
  }
};

// One pass of the batch's mean loss. A view keeps the memory of all activations.
StackView view_stack(const TaskModel& model, const TaskBatch& batch, Pool& pool);

// Of each layer's input: |dL/dx|, Frobenius.
std::vector<double> gradient_norms(const StackView& view);

// Of each sub-layer but the last, as shares of |dL/dy|, where y is what it gives to the next: the
// part of dL/dx that came through F and the rest, which came past F, "through the 1".
struct GradientParts {
  std::vector<double> through_one, through_f;
};
GradientParts gradient_parts(const StackView& view);

// Of each sub-layer: the mean over rows of |F(x)| / |x|.
std::vector<double> branch_ratios(const StackView& view);

// Of each layer's input and of the last output: how much of the first input a linear read-out
// recovers (least_squares.h), and the mean cosine between two positions of a sentence.
std::vector<double> recovered_input(const StackView& view);
std::vector<double> likeness(const StackView& view, const Lengths& sentences);

}  // namespace rapt::insight

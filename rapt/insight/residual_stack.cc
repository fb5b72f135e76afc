#include "rapt/insight/residual_stack.h"

#include <cmath>
#include <map>
#include <string>

#include "rapt/insight/draws.h"
#include "rapt/insight/least_squares.h"

namespace rapt::insight {
namespace {

double norm(std::span<const float> x) { return std::sqrt(dot(x, x)); }

// Collects what AddNorm shows: "<sub-layer>.input", "<sub-layer>.branch", and gradients.
class Collector {
 public:
  explicit Collector(std::vector<SubLayerView>& views) : views_(views) {}

  void operator()(std::string_view name, const Tensor& value) {
    const auto is = [&](std::string_view what) { return name.ends_with(what); };
    const auto view = [&](std::string_view what) -> SubLayerView& {
      const std::string sub_layer(name.substr(0, name.size() - what.size()));
      const auto [place, is_new] = places_.try_emplace(sub_layer, views_.size());
      if (is_new) views_.emplace_back();
      return views_[place->second];
    };
    if (is(".input")) view(".input").x = value;
    if (is(".output")) view(".output").fx = value;
    if (is(".input.gradient")) view(".input.gradient").dx = value;
    if (is(".branch.gradient")) view(".branch.gradient").dx_through_f = value;
  }

 private:
  std::vector<SubLayerView>& views_;
  std::map<std::string, size_t> places_;
};

}  // namespace

StackView view_stack(const TaskModel& model, const TaskBatch& batch, Pool& pool) {
  StackView view;
  Context ctx(Mode::kEvaluation, pool);
  ctx.observe(Collector(view.sub_layers));
  const Var y = model.encode(ctx, batch);
  view.y = y.value();
  ctx.backward(model.loss(ctx, y, batch).objective, 1 / static_cast<float>(batch.ids.size()));
  return view;
}

std::vector<double> gradient_norms(const StackView& view) {
  std::vector<double> norms;
  for (size_t i = 0; i < view.layers(); ++i)
    norms.push_back(norm(view.sub_layers[2 * i].dx.host()));
  return norms;
}

GradientParts gradient_parts(const StackView& view) {
  GradientParts parts;
  for (size_t i = 0; i + 1 < view.sub_layers.size(); ++i) {
    const SubLayerView& v = view.sub_layers[i];
    const double dy = norm(view.sub_layers[i + 1].dx.host());
    double one = 0;
    for (size_t n = 0; n < v.dx.size(); ++n) {
      const auto past = static_cast<double>(v.dx.host()[n] - v.dx_through_f.host()[n]);
      one += past * past;
    }
    parts.through_one.push_back(std::sqrt(one) / dy);
    parts.through_f.push_back(norm(v.dx_through_f.host()) / dy);
  }
  return parts;
}

std::vector<double> branch_ratios(const StackView& view) {
  std::vector<double> ratios;
  for (const SubLayerView& v : view.sub_layers) {
    double sum = 0;
    for (size_t r = 0; r < v.x.rows(); ++r) {
      sum += norm(v.fx.matrix().row(r)) / norm(v.x.matrix().row(r));
    }
    ratios.push_back(sum / static_cast<double>(v.x.rows()));
  }
  return ratios;
}

std::vector<double> recovered_input(const StackView& view) {
  const Tensor& input = view.input(0);
  std::vector<double> shares;
  for (size_t i = 0; i <= view.layers(); ++i) {
    shares.push_back(read_out(view.input(i).matrix(), input.matrix(), input.rows() * 3 / 4));
  }
  return shares;
}

std::vector<double> likeness(const StackView& view, const Lengths& sentences) {
  std::vector<double> cosines;
  for (size_t i = 0; i <= view.layers(); ++i) {
    const MatrixView<const float> x = view.input(i).matrix();
    double sum = 0, pairs = 0;
    for (size_t s = 0; s < sentences.sequences(); ++s) {
      for (size_t a = sentences.offset(s); a < sentences.offset(s + 1); ++a) {
        for (size_t b = sentences.offset(s); b < a; ++b, ++pairs) {
          sum += dot(x.row(a), x.row(b)) / (norm(x.row(a)) * norm(x.row(b)));
        }
      }
    }
    cosines.push_back(sum / pairs);
  }
  return cosines;
}

}  // namespace rapt::insight

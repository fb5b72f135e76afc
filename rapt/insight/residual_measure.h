// What the claim about residual connections measures, before it is drawn.
#pragma once
#include <array>
#include <optional>
#include <vector>

#include "rapt/insight/residual.h"
#include "rapt/insight/residual_chain.h"
#include "rapt/insight/residual_stack.h"

namespace rapt::insight {

inline constexpr std::array kResiduals = {Residual::kNone, Residual::kPlain, Residual::kPost,
                                          Residual::kPre};

struct ResidualMeasurements {
  // -factor, factor, 1, 1 / factor, and the chains of maps with these slopes.
  std::vector<double> slopes;
  std::vector<Chain> numbers, vectors;
  // Stacks as they are drawn, in the order of kResiduals, seen by the same sentences. Gradients as
  // shares of the last layer's.
  std::array<std::vector<double>, kResiduals.size()> gradient, recovered, alike;
  GradientParts post, pre;
  // The losses of fitting H, near the identity and near its mirror image.
  std::vector<double> direct, residual, mirror_direct, mirror_residual;
  // Trained stacks: post-LN and pre-LN.
  std::array<double, 2> trained_loss;
  std::array<std::vector<double>, 2> ratios;  // of each sub-layer

  // Updates until the mean squared error is a tenth of what it costs to leave out the change.
  static std::optional<size_t> updates(const std::vector<double>& losses, double change) {
    return Curve{losses, {}}.reaches(0.1 * change * change);
  }
};

ResidualMeasurements measure(const ResidualOptions& options, const Setting& setting);

// The figure's panels, two in a row.
std::vector<plot::Panel> panels_of(const ResidualMeasurements& m, const Setting& setting);
// "post-LN: LN(x + F(x))"
std::string title_of(Residual kind, const Setting& setting);

}  // namespace rapt::insight

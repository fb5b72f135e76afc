// What the claim about normalisation measured, and how it is drawn.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "rapt/insight/normalization.h"
#include "rapt/insight/normalized_rows.h"
#include "rapt/insight/normalized_stack.h"
#include "rapt/insight/normalized_training.h"

namespace rapt::insight {

struct NormalizationMeasures {
  RowStatistics rows;
  EpsilonStatistics epsilon;
  // With matrices drawn 1 / gain, 1 and gain times as large.
  std::array<double, 3> gains;
  std::array<StackProfile, 3> without, layer;
  std::vector<NormComparison> rates;  // by kRates
  Affine affine;                      // of the trained LayerNorms
  // How far neighbours move a sentence, by kBatchSizes.
  std::vector<double> layer_equal, layer_ragged, batch_equal, batch_ragged, batch_evaluation;
  std::vector<BatchGaps> gaps;

  const NormComparison& trainings() const { return rates.front(); }
};

// "LayerNorm, γ and β fixed"
std::string name_of_training(size_t kind, const Setting& setting);

plot::Figure figure_of(const NormalizationMeasures& measures, const NormalizationOptions& options,
                       const Setting& setting);

}  // namespace rapt::insight

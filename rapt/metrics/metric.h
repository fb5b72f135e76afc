// The one list of metrics: what `--metric` accepts in training, what evaluation prints.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "rapt/metrics/statistics.h"

namespace rapt::metrics {

struct Metric {
  std::string_view name;   // as on the command line
  std::string_view title;  // as in a table
  std::string_view unit;   // "%" or ""; BLEU and chrF have none, though they end at 100
  std::string_view help;   // one line
  bool higher_is_better;
  // Either a function of the loss (nats a target token) …
  double (*from_loss)(double loss);
  // … or of decoded lines: counts of each line, and the score of their sums.
  Statistics (*statistics)(const Lines& hypotheses, const References& references);
  double (*score)(std::span<const int64_t> total);

  bool needs_decoding() const { return statistics != nullptr; }
  // Throw InvalidArgument for a metric of the loss, and for lines that do not match.
  double compute(const Lines& hypotheses, const References& references) const;
  Estimate estimate(const Lines& hypotheses, const References& references, uint64_t seed = 0,
                    size_t resamples = 1000) const;
  // Whether `a` is better than `b`; NaN is worse than everything.
  bool better(double a, double b) const;
};

std::span<const Metric> all_metrics();

// Throws InvalidArgument with the list of names for an unknown one.
const Metric& find_metric(std::string_view name);

std::string metric_names();  // "loss, perplexity, …"

}  // namespace rapt::metrics

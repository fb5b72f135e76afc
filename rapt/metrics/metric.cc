#include "rapt/metrics/metric.h"

#include <array>

#include "rapt/base/check.h"
#include "rapt/metrics/bleu.h"
#include "rapt/metrics/chrf.h"
#include "rapt/metrics/error_rate.h"
#include "rapt/metrics/perplexity.h"

namespace rapt::metrics {
namespace {

double loss(double x) { return x; }

Statistics bleu_counts(const Lines& h, const References& r) { return bleu_statistics(h, r); }
double bleu_score(std::span<const int64_t> total) { return bleu_of(total).score; }

Statistics chrf_counts(const Lines& h, const References& r) { return chrf_statistics(h, r); }
Statistics chrf_plus_counts(const Lines& h, const References& r) {
  return chrf_statistics(h, r, {.word_order = 2});
}

constexpr bool kHigher = true, kLower = false;
constexpr std::array<Metric, 9> kMetrics = {{
    {"loss", "loss", "", "nats a target token, without label smoothing", kLower, loss, nullptr,
     nullptr},
    {"perplexity", "perplexity", "", "e^loss", kLower, perplexity, nullptr, nullptr},
    {"bleu", "BLEU", "", "BLEU as sacreBLEU computes it (tokenizer 13a)", kHigher, nullptr,
     bleu_counts, bleu_score},
    {"chrf", "chrF2", "", "chrF2 as sacreBLEU computes it", kHigher, nullptr, chrf_counts, chrf_of},
    {"chrf++", "chrF2++", "", "chrF2 with words and pairs of words", kHigher, nullptr,
     chrf_plus_counts, chrf_of},
    {"wer", "WER", "%", "lines that are not exactly right", kLower, nullptr, line_errors,
     error_rate_of},
    {"per", "PER", "%", "edits a token of the reference", kLower, nullptr, token_errors,
     error_rate_of},
    {"cer", "CER", "%", "edits a character of the reference", kLower, nullptr, character_errors,
     error_rate_of},
    {"accuracy", "accuracy", "%", "lines that are exactly right", kHigher, nullptr, line_errors,
     accuracy_of},
}};

}  // namespace

double Metric::compute(const Lines& hypotheses, const References& references) const {
  check(needs_decoding(), name, ": computed from the loss, not from decoded lines");
  return score(statistics(hypotheses, references).total());
}

Estimate Metric::estimate(const Lines& hypotheses, const References& references, uint64_t seed,
                          size_t resamples) const {
  check(needs_decoding(), name, ": computed from the loss, not from decoded lines");
  return bootstrap(statistics(hypotheses, references), score, seed, resamples);
}

bool Metric::better(double a, double b) const {
  if (a != a || b != b) return a == a;
  return higher_is_better ? a > b : a < b;
}

std::span<const Metric> all_metrics() { return kMetrics; }

const Metric& find_metric(std::string_view name) {
  for (const Metric& metric : kMetrics) {
    if (metric.name == name) return metric;
  }
  throw InvalidArgument(concat("unknown metric '", name, "', expected one of ", metric_names()));
}

std::string metric_names() {
  std::string names;
  for (const Metric& metric : kMetrics) {
    if (!names.empty()) names += ", ";
    names += metric.name;
  }
  return names;
}

}  // namespace rapt::metrics

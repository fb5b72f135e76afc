#include "rapt/metrics/statistics.h"

#include <algorithm>

#include "rapt/base/check.h"
#include "rapt/base/philox.h"

namespace rapt::metrics {

void check_lines(const char* metric, const Lines& hypotheses, const References& references) {
  check(hypotheses.size() == references.size(), metric, ": ", hypotheses.size(),
        " hypotheses, but references for ", references.size(), " lines; expected as many");
  check(!hypotheses.empty(), metric, ": no lines, expected at least one");
  for (size_t i = 0; i < references.size(); ++i) {
    check(!references[i].empty(), metric, ": line ", i + 1, " has no reference, expected one");
  }
}

std::span<int64_t> Statistics::add_line() {
  counts_.resize(counts_.size() + width_);
  return std::span(counts_).last(width_);
}

std::vector<int64_t> Statistics::total() const {
  std::vector<int64_t> sum(width_);
  for (size_t i = 0; i < counts_.size(); ++i) sum[i % width_] += counts_[i];
  return sum;
}

Estimate bootstrap(const Statistics& statistics, const Score& score, uint64_t seed,
                   size_t resamples) {
  check(resamples > 0, "bootstrap: 0 resamples, expected at least one");
  const double value = score(statistics.total());
  const uint64_t key = op_key(seed, Stream::kSample, site_of("bootstrap"), 0);
  const size_t lines = statistics.lines();
  std::vector<double> scores(resamples);
  std::vector<int64_t> sum(statistics.width());
  for (size_t r = 0; r < resamples; ++r) {
    std::fill(sum.begin(), sum.end(), 0);
    PhiloxBlock words{};
    for (size_t i = 0; i < lines; ++i) {
      if (i % 4 == 0) {
        words = philox({static_cast<uint32_t>(i / 4), static_cast<uint32_t>(r), 0, 0}, key);
      }
      const auto drawn = statistics.line(static_cast<size_t>(uint64_t{words[i % 4]} * lines >> 32));
      for (size_t c = 0; c < sum.size(); ++c) sum[c] += drawn[c];
    }
    scores[r] = score(sum);
  }
  std::sort(scores.begin(), scores.end());
  const size_t cut = resamples / 40;
  return {value, scores[cut], scores[resamples - 1 - cut]};
}

}  // namespace rapt::metrics

// A metric of a corpus is a function of sums over its lines: counts of matches, edits, tokens. The
// counts of each line are kept, so that an interval costs sums and no second look at the text.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace rapt::metrics {

using Lines = std::vector<std::string>;
using References = std::vector<Lines>;  // references[line]: one or more, any of which is right

// Throws InvalidArgument unless there is at least one line, and at least one reference for each.
void check_lines(const char* metric, const Lines& hypotheses, const References& references);

// One row of `width` counts a line.
class Statistics {
 public:
  explicit Statistics(size_t width) : width_(width) {}
  std::span<int64_t> add_line();  // zeros, to be filled before the next call
  size_t lines() const { return counts_.size() / width_; }
  size_t width() const { return width_; }
  std::span<const int64_t> line(size_t i) const { return {&counts_[i * width_], width_}; }
  std::vector<int64_t> total() const;

 private:
  size_t width_;
  std::vector<int64_t> counts_;
};

using Score = std::function<double(std::span<const int64_t> total)>;

// A value and the interval that holds it with 95 % confidence.
struct Estimate {
  double value = 0, low = 0, high = 0;
};

// The percentile bootstrap (Efron, 1979; for BLEU: Koehn, 2004): the score of `resamples` corpora,
// each drawn from the lines with replacement; the interval leaves out the lowest and the highest
// fortieth. The draws depend on the seed, the resample and the place alone.
Estimate bootstrap(const Statistics& statistics, const Score& score, uint64_t seed = 0,
                   size_t resamples = 1000);

}  // namespace rapt::metrics

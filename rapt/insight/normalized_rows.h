// What normalisation makes of the statistics of rows.
#pragma once
#include <cstdint>
#include <vector>

#include "rapt/insight/statistics.h"
#include "rapt/parallel/pool.h"

namespace rapt::insight {

// Of one sentence [tokens, width].
struct SentenceStatistics {
  Interval token_means, token_variances;  // the least and the greatest of its tokens
  double mean, variance;                  // of all its numbers
  double coupling;  // how far the last token's row moves, relatively, when the first is replaced
};
// Of a sentence whose tokens have means and spreads of their own: as it is, with each token
// normalised, and with all its numbers normalised together.
struct RowStatistics {
  SentenceStatistics before, per_token, per_sentence;
};
RowStatistics row_statistics(size_t tokens, size_t width, double eps, uint64_t seed, Pool& pool);

// Of a row with variance s^2: the variance afterwards, which is s^2 / (s^2 + eps).
struct EpsilonStatistics {
  std::vector<double> variances, measured, formula;
  double worst;                   // greatest relative distance of the two
  double constant, constant_nan;  // of a constant row: greatest size; percent of NaN
  double unguarded_nan;           // the latter without eps
};
EpsilonStatistics epsilon_statistics(size_t width, double eps, uint64_t seed, Pool& pool);

}  // namespace rapt::insight

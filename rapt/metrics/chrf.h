// chrF (Popović, 2015) and chrF++ (Popović, 2017) of a corpus, equal to sacreBLEU:
//   chrF = 100 (1 + beta^2) P R / (beta^2 P + R),  beta = 2
// P and R are the averages of precision and recall over the n-grams of characters, n = 1 … 6, and,
// for chrF++, of words, n = 1, 2; orders that either side lacks do not count. White space is not a
// character. With several references a line takes the one that gives it the best score.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "rapt/metrics/statistics.h"

namespace rapt::metrics {

inline constexpr size_t kChrfCharacters = 6;

struct ChrfOptions {
  size_t word_order = 0;  // 2 gives chrF++
  bool lowercase = false;
};

// 0 … 100. Throw InvalidArgument when the numbers of lines differ, or a line has no reference.
double chrf(const Lines& hypotheses, const References& references, const ChrfOptions& options = {});
// Counts of each line: n-grams of the hypothesis, of the reference, and matches, for each order.
Statistics chrf_statistics(const Lines& hypotheses, const References& references,
                           const ChrfOptions& options = {});
double chrf_of(std::span<const int64_t> total);

// sacreBLEU's signature without its version: "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no".
std::string chrf_signature(const References& references, const ChrfOptions& options = {});

}  // namespace rapt::metrics

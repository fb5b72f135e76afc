// Error rates in percent, as the pronunciation tasks count them:
//   WER       share of lines (words) that are not exactly right: any reference will do
//   accuracy  100 - WER
//   PER       edits / tokens of the reference, over tokens (phones) between white space
//   CER       edits / characters of the reference, over code points; white space counts as one
//   space
// Edits are insertions, deletions and substitutions at cost 1 (Levenshtein, 1966). Of several
// references a line takes the one with the fewest edits, of those the longest. Rates can exceed
// 100.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "rapt/metrics/statistics.h"

namespace rapt::metrics {

// O(|a| |b|) time, O(min(|a|, |b|)) memory.
size_t edit_distance(std::span<const uint32_t> a, std::span<const uint32_t> b);

// All throw InvalidArgument when the numbers of lines differ, or a line has no reference.
double wer(const Lines& hypotheses, const References& references);
double accuracy(const Lines& hypotheses, const References& references);
double per(const Lines& hypotheses, const References& references);
double cer(const Lines& hypotheses, const References& references);

// Counts of each line: errors, then what they are a share of.
Statistics line_errors(const Lines& hypotheses, const References& references);
Statistics token_errors(const Lines& hypotheses, const References& references);
Statistics character_errors(const Lines& hypotheses, const References& references);
double error_rate_of(std::span<const int64_t> total);  // without any token: as if there were one
double accuracy_of(std::span<const int64_t> total);

}  // namespace rapt::metrics

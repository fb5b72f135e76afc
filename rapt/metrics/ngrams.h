// Counts of n-grams over symbols that are numbers: code points, or words by their place in a table.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace rapt::metrics {

inline constexpr size_t kMaxNgram = 6;
using Ngram = std::array<uint32_t, kMaxNgram>;  // zeros behind the n symbols
struct NgramCount {
  Ngram ngram;
  int64_t count;
};
using NgramCounts = std::vector<NgramCount>;  // sorted by n-gram

NgramCounts count_ngrams(std::span<const uint32_t> symbols, size_t n);

int64_t total(const NgramCounts& counts);
// The sum over n-grams of the smaller count.
int64_t matches(const NgramCounts& a, const NgramCounts& b);
// For each n-gram the greater count.
NgramCounts greater_of(const NgramCounts& a, const NgramCounts& b);

// Words to numbers from 1; equal words have equal numbers. It borrows the words.
class WordNumbers {
 public:
  std::vector<uint32_t> operator()(std::span<const std::string_view> words);

 private:
  std::unordered_map<std::string_view, uint32_t> numbers_;
};

}  // namespace rapt::metrics

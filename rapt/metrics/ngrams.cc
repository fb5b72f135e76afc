#include "rapt/metrics/ngrams.h"

#include <algorithm>
#include <cassert>

namespace rapt::metrics {
namespace {

// Calls f(ngram, count in a, count in b) for each n-gram of either, in order.
template <class F>
void merge(const NgramCounts& a, const NgramCounts& b, const F& f) {
  auto i = a.begin(), j = b.begin();
  while (i != a.end() || j != b.end()) {
    if (j == b.end() || (i != a.end() && i->ngram < j->ngram)) {
      f(i->ngram, i->count, int64_t{0});
      ++i;
    } else if (i == a.end() || j->ngram < i->ngram) {
      f(j->ngram, int64_t{0}, j->count);
      ++j;
    } else {
      f(i->ngram, i->count, j->count);
      ++i, ++j;
    }
  }
}

}  // namespace

NgramCounts count_ngrams(std::span<const uint32_t> symbols, size_t n) {
  assert(n >= 1 && n <= kMaxNgram);
  if (symbols.size() < n) return {};
  std::vector<Ngram> all(symbols.size() - n + 1, Ngram{});
  for (size_t i = 0; i < all.size(); ++i) std::copy_n(symbols.begin() + i, n, all[i].begin());
  std::sort(all.begin(), all.end());
  NgramCounts counts;
  for (const Ngram& ngram : all) {
    if (counts.empty() || counts.back().ngram != ngram) counts.push_back({ngram, 0});
    ++counts.back().count;
  }
  return counts;
}

int64_t total(const NgramCounts& counts) {
  int64_t sum = 0;
  for (const NgramCount& c : counts) sum += c.count;
  return sum;
}

int64_t matches(const NgramCounts& a, const NgramCounts& b) {
  int64_t sum = 0;
  merge(a, b, [&](const Ngram&, int64_t x, int64_t y) { sum += std::min(x, y); });
  return sum;
}

NgramCounts greater_of(const NgramCounts& a, const NgramCounts& b) {
  NgramCounts out;
  merge(a, b, [&](const Ngram& n, int64_t x, int64_t y) { out.push_back({n, std::max(x, y)}); });
  return out;
}

std::vector<uint32_t> WordNumbers::operator()(std::span<const std::string_view> words) {
  std::vector<uint32_t> out;
  out.reserve(words.size());
  for (const std::string_view word : words) {
    const uint32_t next = static_cast<uint32_t>(numbers_.size()) + 1;
    out.push_back(numbers_.try_emplace(word, next).first->second);
  }
  return out;
}

}  // namespace rapt::metrics

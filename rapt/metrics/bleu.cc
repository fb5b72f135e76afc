#include "rapt/metrics/bleu.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "rapt/base/check.h"
#include "rapt/base/scalar_math.h"
#include "rapt/metrics/ngrams.h"
#include "rapt/metrics/words.h"

namespace rapt::metrics {
namespace {

// The places of a line's counts.
constexpr size_t kHypothesisLength = 0, kReferenceLength = 1, kMatches = 2,
                 kNgrams = kMatches + kBleuOrder, kWidth = kNgrams + kBleuOrder;

std::string prepare(const std::string& line, const BleuOptions& options) {
  const std::string text = options.lowercase ? lowercase(line) : line;
  return tokenize(options.tokenizer, strip_right(text));
}

// The nearer length; of two as near, the shorter.
bool is_nearer(int64_t length, int64_t best, int64_t hypothesis) {
  const int64_t distance = std::abs(length - hypothesis), least = std::abs(best - hypothesis);
  return distance < least || (distance == least && length < best);
}

void count_line(const std::string& hypothesis, const Lines& references, const BleuOptions& options,
                std::span<int64_t> counts) {
  WordNumbers numbers;
  const std::string text = prepare(hypothesis, options);
  const std::vector<uint32_t> words = numbers(split_words(text));
  const int64_t length = static_cast<int64_t>(words.size());

  std::array<NgramCounts, kBleuOrder> best;
  Lines texts;  // outlives the numbers, which borrow the words
  texts.reserve(references.size());
  int64_t nearest = -1;
  for (const std::string& reference : references) {
    const auto reference_words =
        numbers(split_words(texts.emplace_back(prepare(reference, options))));
    const int64_t reference_length = static_cast<int64_t>(reference_words.size());
    if (nearest < 0 || is_nearer(reference_length, nearest, length)) nearest = reference_length;
    for (size_t n = 0; n < kBleuOrder; ++n) {
      best[n] = greater_of(best[n], count_ngrams(reference_words, n + 1));
    }
  }
  counts[kHypothesisLength] = length;
  counts[kReferenceLength] = nearest;
  for (size_t n = 0; n < kBleuOrder; ++n) {
    const NgramCounts ngrams = count_ngrams(words, n + 1);
    counts[kMatches + n] = matches(ngrams, best[n]);
    counts[kNgrams + n] = total(ngrams);
  }
}

}  // namespace

Statistics bleu_statistics(const Lines& hypotheses, const References& references,
                           const BleuOptions& options) {
  check_lines("bleu", hypotheses, references);
  Statistics statistics(kWidth);
  for (size_t i = 0; i < hypotheses.size(); ++i) {
    count_line(hypotheses[i], references[i], options, statistics.add_line());
  }
  return statistics;
}

BleuScore bleu_of(std::span<const int64_t> total, const BleuOptions& options) {
  BleuScore s;
  s.hypothesis_length = total[kHypothesisLength];
  s.reference_length = total[kReferenceLength];
  const double c = static_cast<double>(s.hypothesis_length);
  const double r = static_cast<double>(s.reference_length);
  s.brevity_penalty = c >= r ? 1 : c > 0 ? scalar::exp(1 - r / c) : 0;

  const auto matched = total.subspan(kMatches, kBleuOrder);
  if (std::all_of(matched.begin(), matched.end(), [](int64_t n) { return n == 0; })) return s;
  double smoothing = 1, sum = 0;
  size_t order = kBleuOrder;
  for (size_t n = 0; n < kBleuOrder; ++n) {
    const double ngrams = static_cast<double>(total[kNgrams + n]);
    if (ngrams == 0) break;
    if (options.effective_order) order = n + 1;
    if (matched[n] == 0) smoothing *= 2;
    s.precisions[n] = matched[n] == 0 ? 100 / (smoothing * ngrams)
                                      : 100 * static_cast<double>(matched[n]) / ngrams;
  }
  for (size_t n = 0; n < order; ++n) sum += scalar::log(s.precisions[n]);  // exp(-infinity) = 0
  s.score = s.brevity_penalty * scalar::exp(sum / static_cast<double>(order));
  return s;
}

BleuScore bleu(const Lines& hypotheses, const References& references, const BleuOptions& options) {
  return bleu_of(bleu_statistics(hypotheses, references, options).total(), options);
}

std::string to_string(const BleuScore& s) {
  const double ratio = s.reference_length == 0 ? 0
                                               : static_cast<double>(s.hypothesis_length) /
                                                     static_cast<double>(s.reference_length);
  char text[256];
  std::snprintf(text, sizeof text,
                "BLEU = %.2f %.1f/%.1f/%.1f/%.1f (BP = %.3f ratio = %.3f hyp_len = %lld "
                "ref_len = %lld)",
                s.score, s.precisions[0], s.precisions[1], s.precisions[2], s.precisions[3],
                s.brevity_penalty, ratio, static_cast<long long>(s.hypothesis_length),
                static_cast<long long>(s.reference_length));
  return text;
}

std::string reference_count(const References& references) {
  const size_t first = references.empty() ? 0 : references.front().size();
  const auto same = [&](const Lines& r) { return r.size() == first; };
  return std::all_of(references.begin(), references.end(), same) ? std::to_string(first) : "var";
}

std::string bleu_signature(const References& references, const BleuOptions& options) {
  return concat("nrefs:", reference_count(references), "|case:", options.lowercase ? "lc" : "mixed",
                "|eff:", options.effective_order ? "yes" : "no",
                "|tok:", name_of(options.tokenizer), "|smooth:exp");
}

}  // namespace rapt::metrics

#include "rapt/metrics/chrf.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "rapt/base/check.h"
#include "rapt/metrics/bleu.h"
#include "rapt/metrics/ngrams.h"
#include "rapt/metrics/words.h"

namespace rapt::metrics {
namespace {

bool is_punctuation(char c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
         (c >= '{' && c <= '~');
}

// Words with one punctuation mark taken off their end or, failing that, their beginning.
std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> out;
  for (const std::string_view word : split_words(text)) {
    if (word.size() > 1 && is_punctuation(word.back())) {
      out.push_back(word.substr(0, word.size() - 1));
      out.push_back(word.substr(word.size() - 1));
    } else if (word.size() > 1 && is_punctuation(word.front())) {
      out.push_back(word.substr(0, 1));
      out.push_back(word.substr(1));
    } else {
      out.push_back(word);
    }
  }
  return out;
}

using Profile = std::vector<NgramCounts>;  // one a order: characters, then words

Profile profile(std::string_view text, const ChrfOptions& options, WordNumbers& numbers) {
  std::vector<uint32_t> characters;
  for (const char32_t c : code_points(text)) {
    // + 1, since 0 fills up shorter n-grams.
    if (!is_space(c)) characters.push_back(static_cast<uint32_t>(c) + 1);
  }
  Profile out;
  for (size_t n = 1; n <= kChrfCharacters; ++n) out.push_back(count_ngrams(characters, n));
  if (options.word_order > 0) {
    const std::vector<uint32_t> words = numbers(words_of(text));
    for (size_t n = 1; n <= options.word_order; ++n) out.push_back(count_ngrams(words, n));
  }
  return out;
}

std::vector<int64_t> compare(const Profile& hypothesis, const Profile& reference) {
  std::vector<int64_t> counts;
  for (size_t n = 0; n < hypothesis.size(); ++n) {
    // An order that the reference lacks is no fault of the hypothesis.
    counts.push_back(reference[n].empty() ? 0 : total(hypothesis[n]));
    counts.push_back(total(reference[n]));
    counts.push_back(matches(hypothesis[n], reference[n]));
  }
  return counts;
}

}  // namespace

Statistics chrf_statistics(const Lines& hypotheses, const References& references,
                           const ChrfOptions& options) {
  check_lines("chrf", hypotheses, references);
  check(options.word_order <= kMaxNgram, "chrf: word order ", options.word_order,
        ", expected at most ", kMaxNgram);
  Statistics statistics(3 * (kChrfCharacters + options.word_order));
  for (size_t i = 0; i < hypotheses.size(); ++i) {
    Lines texts;  // outlives the numbers, which borrow the words
    texts.reserve(references[i].size() + 1);
    WordNumbers numbers;
    const auto prepare = [&](const std::string& line) {
      texts.push_back(options.lowercase ? lowercase(line) : line);
      return profile(texts.back(), options, numbers);
    };
    const Profile hypothesis = prepare(hypotheses[i]);
    const std::span<int64_t> counts = statistics.add_line();
    double best = -1;
    for (const std::string& reference : references[i]) {
      const std::vector<int64_t> compared = compare(hypothesis, prepare(reference));
      if (const double score = chrf_of(compared); score > best) {
        best = score;
        std::copy(compared.begin(), compared.end(), counts.begin());
      }
    }
  }
  return statistics;
}

double chrf_of(std::span<const int64_t> total) {
  constexpr double kBeta2 = 4;
  double precision = 0, recall = 0, orders = 0;
  for (size_t i = 0; i + 2 < total.size(); i += 3) {
    const double hypothesis = static_cast<double>(total[i]);
    const double reference = static_cast<double>(total[i + 1]);
    const double matched = static_cast<double>(total[i + 2]);
    if (hypothesis == 0 || reference == 0) continue;
    precision += matched / hypothesis;
    recall += matched / reference;
    ++orders;
  }
  if (precision + recall == 0) return 0;
  precision /= orders;
  recall /= orders;
  return 100 * (1 + kBeta2) * precision * recall / (kBeta2 * precision + recall);
}

double chrf(const Lines& hypotheses, const References& references, const ChrfOptions& options) {
  return chrf_of(chrf_statistics(hypotheses, references, options).total());
}

std::string chrf_signature(const References& references, const ChrfOptions& options) {
  return concat("nrefs:", reference_count(references), "|case:", options.lowercase ? "lc" : "mixed",
                "|eff:yes|nc:", kChrfCharacters, "|nw:", options.word_order, "|space:no");
}

}  // namespace rapt::metrics

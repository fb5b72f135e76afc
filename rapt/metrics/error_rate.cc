#include "rapt/metrics/error_rate.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "rapt/metrics/ngrams.h"
#include "rapt/metrics/words.h"

namespace rapt::metrics {
namespace {

using Symbols = std::vector<uint32_t>;

Symbols characters(std::string_view line) {
  Symbols out;
  for (const std::string_view word : split_words(line)) {
    if (!out.empty()) out.push_back(' ');
    for (const char32_t c : code_points(word)) out.push_back(static_cast<uint32_t>(c));
  }
  return out;
}

// Edits and length of the reference with the fewest edits, of those the longest.
template <class ToSymbols>
Statistics edits_of(const char* metric, const Lines& hypotheses, const References& references,
                    const ToSymbols& prepare) {
  check_lines(metric, hypotheses, references);
  Statistics statistics(2);
  for (size_t i = 0; i < hypotheses.size(); ++i) {
    auto to_symbols = prepare();
    const Symbols hypothesis = to_symbols(hypotheses[i]);
    const std::span<int64_t> counts = statistics.add_line();
    bool first = true;
    for (const std::string& line : references[i]) {
      const Symbols reference = to_symbols(line);
      const int64_t edits = static_cast<int64_t>(edit_distance(hypothesis, reference));
      const int64_t length = static_cast<int64_t>(reference.size());
      if (first || edits < counts[0] || (edits == counts[0] && length > counts[1])) {
        counts[0] = edits;
        counts[1] = length;
      }
      first = false;
    }
  }
  return statistics;
}

}  // namespace

size_t edit_distance(std::span<const uint32_t> a, std::span<const uint32_t> b) {
  while (!a.empty() && !b.empty() && a.front() == b.front()) a = a.subspan(1), b = b.subspan(1);
  while (!a.empty() && !b.empty() && a.back() == b.back()) {
    a = a.first(a.size() - 1), b = b.first(b.size() - 1);
  }
  if (a.size() < b.size()) std::swap(a, b);
  // row[j]: distance of the part of a read so far to the first j symbols of b.
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (const uint32_t symbol : a) {
    size_t diagonal = row[0]++;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t substitution = diagonal + (symbol == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substitution, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

Statistics line_errors(const Lines& hypotheses, const References& references) {
  check_lines("wer", hypotheses, references);
  Statistics statistics(2);
  for (size_t i = 0; i < hypotheses.size(); ++i) {
    const auto words = split_words(hypotheses[i]);
    const auto right = [&](const std::string& r) { return split_words(r) == words; };
    const std::span<int64_t> counts = statistics.add_line();
    counts[0] = std::any_of(references[i].begin(), references[i].end(), right) ? 0 : 1;
    counts[1] = 1;
  }
  return statistics;
}

Statistics token_errors(const Lines& hypotheses, const References& references) {
  return edits_of("per", hypotheses, references, [] {
    return [numbers = WordNumbers()](std::string_view line) mutable {
      return numbers(split_words(line));
    };
  });
}

Statistics character_errors(const Lines& hypotheses, const References& references) {
  return edits_of("cer", hypotheses, references, [] { return characters; });
}

double error_rate_of(std::span<const int64_t> total) {
  return 100 * static_cast<double>(total[0]) / static_cast<double>(std::max<int64_t>(total[1], 1));
}

double accuracy_of(std::span<const int64_t> total) {
  return 100 * static_cast<double>(total[1] - total[0]) /
         static_cast<double>(std::max<int64_t>(total[1], 1));
}

double wer(const Lines& hypotheses, const References& references) {
  return error_rate_of(line_errors(hypotheses, references).total());
}

double accuracy(const Lines& hypotheses, const References& references) {
  return accuracy_of(line_errors(hypotheses, references).total());
}

double per(const Lines& hypotheses, const References& references) {
  return error_rate_of(token_errors(hypotheses, references).total());
}

double cer(const Lines& hypotheses, const References& references) {
  return error_rate_of(character_errors(hypotheses, references).total());
}

}  // namespace rapt::metrics

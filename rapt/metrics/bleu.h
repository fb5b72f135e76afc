// BLEU of a corpus (Papineni et al., 2002), equal to sacreBLEU (Post, 2018):
//   BLEU = 100 BP exp(1/4 sum_n ln p_n),  n = 1 … 4
//   p_n  = matched n-grams / n-grams of the hypotheses; an n-gram matches at most as often as it
//          occurs in the reference that has it most often
//   BP   = min(1, exp(1 - r / c)), c tokens in the hypotheses, r in the references of nearest
//   length
// A p_n without matches is smoothed as in mteval-v13a ("exp"): the i-th such is 1 / (2^i n-grams).
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "rapt/metrics/bleu_tokenizer.h"
#include "rapt/metrics/statistics.h"

namespace rapt::metrics {

inline constexpr size_t kBleuOrder = 4;

struct BleuOptions {
  BleuTokenizer tokenizer = BleuTokenizer::k13a;
  bool lowercase = false;
  bool effective_order = false;  // average only the n that the hypotheses have: for single lines
};

struct BleuScore {
  double score = 0;                             // 0 … 100
  std::array<double, kBleuOrder> precisions{};  // in percent
  double brevity_penalty = 0;
  int64_t hypothesis_length = 0, reference_length = 0;  // tokens
};

// Throw InvalidArgument when the numbers of lines differ, or a line has no reference.
BleuScore bleu(const Lines& hypotheses, const References& references,
               const BleuOptions& options = {});
// Counts of each line: both lengths, then matches and n-grams of each order.
Statistics bleu_statistics(const Lines& hypotheses, const References& references,
                           const BleuOptions& options = {});
BleuScore bleu_of(std::span<const int64_t> total, const BleuOptions& options = {});

// sacreBLEU's line: "BLEU = 34.05 75.0/… (BP = 1.000 ratio = 1.000 hyp_len = 8 ref_len = 8)".
std::string to_string(const BleuScore& score);
// sacreBLEU's signature without its version: "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp".
std::string bleu_signature(const References& references, const BleuOptions& options = {});

// What signatures say of the references: their number a line, or "var".
std::string reference_count(const References& references);

}  // namespace rapt::metrics

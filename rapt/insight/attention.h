// "The query of a word meets the keys of all words; the scores become weights, and the weights mix
// the values. Each column of weights sums to 1."
//   S = KᵀQ / sqrt(d_k)    W = softmax of each column    O = V W
// with words as columns (Q is d_k × n, K d_k × m, V d_v × m). Our rows are the same memory: a
// column-major d_k × n matrix and a row-major [n, d_k] one differ in the reading alone.
#pragma once
#include "rapt/insight/claim.h"

namespace rapt::insight {

inline constexpr Claim kAttention = {"attention",
                                     "The query of a word meets the keys of all words; scores "
                                     "become weights, each column sums to 1, "
                                     "and the weights mix the values.",
                                     "한 단어의 쿼리가 모든 단어의 키와 만나 점수가 되고, 점수는 "
                                     "열마다 합이 1인 가중치가 되어 값을 섞는다."};

struct AttentionOptions {
  std::string input;
  size_t d_k = 4, d_v = 2;
  std::string scale = "sqrt";
  Orientation orientation = Orientation::kNotes;

  // Vectors chosen by hand; else they are drawn.
  bool by_hand() const { return input.empty() && d_k == 4 && d_v == 2; }

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit("input", self.input, "words of your own, with vectors of whole numbers from -2 to 2");
    visit("d_k", self.d_k, Range{1, 64}, "components of queries and keys");
    visit("d_v", self.d_v, Range{1, 64}, "components of values");
    visit("scale", self.scale,
          "what scores are multiplied by: sqrt (1 / sqrt(d_k)), none, a number");
    visit("orientation", self.orientation, "words as columns (notes) or as rows");
  }
};

Result attention(const AttentionOptions& options, const Setting& setting);

}  // namespace rapt::insight

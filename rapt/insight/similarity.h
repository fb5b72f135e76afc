// "The dot product shows how alike the directions of two vectors are."
//   q·k = |q| |k| cos(angle): true of directions alone where the lengths are equal.
#pragma once
#include "rapt/insight/claim.h"

namespace rapt::insight {

inline constexpr Claim kSimilarity = {
    "similarity", "The dot product of two vectors shows how alike their directions are.",
    "두 벡터의 내적은 방향이 얼마나 비슷한지를 나타낸다."};

struct SimilarityOptions {
  size_t d_k = 64, draws = 20000;
  double longest = 4, shortest = 0.25;

  static SimilarityOptions full() { return {.draws = 200000}; }

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit("d_k", self.d_k, Range{2, 65536}, "components of a vector");
    visit("draws", self.draws, Range{100, 1e7}, "random triples of a query and two keys");
    visit("shortest", self.shortest, Range{1e-3, 1e3}, "least length of a key");
    visit("longest", self.longest, Range{1e-3, 1e3}, "greatest length of a key");
  }
};

Result similarity(const SimilarityOptions& options, const Setting& setting);

}  // namespace rapt::insight

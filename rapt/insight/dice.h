// "One die shows 1 … 6; the sum of 64 lies in 64 … 384, far more spread." The picture for a dot
// product: a sum of d_k independent terms. Variances of independent terms add up, so that of the sum
// is n times as great, and the standard deviation sqrt(n) times.
#pragma once
#include "rapt/insight/claim.h"

namespace rapt::insight {

inline constexpr Claim kDice = {
    "dice", "One die ranges from 1 to 6, the sum of 64 dice from 64 to 384: far more spread.",
    "주사위 하나의 범위는 1~6이지만 64개의 합은 64~384로, 훨씬 넓게 퍼진다."};

struct DiceOptions {
  size_t dice = 64, faces = 6, draws = 100000;

  static DiceOptions full() { return {.draws = 1000000}; }

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit("dice", self.dice, Range{2, 1000}, "dice that are added");
    visit("faces", self.faces, Range{2, 20}, "of a die, from 1");
    visit("draws", self.draws, Range{100, 1e7}, "throws of all dice");
  }
};

Result dice(const DiceOptions& options, const Setting& setting);

// P(sum of `dice` fair dice = dice + i), i = 0, 1, …: the distribution of one die, folded with
// itself.
std::vector<double> sum_distribution(size_t dice, size_t faces);

}  // namespace rapt::insight

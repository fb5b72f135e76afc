// What a feed-forward network and attention each do with the positions of a sentence.
#pragma once
#include "rapt/insight/plain_stack.h"

namespace rapt::insight {

struct PositionWise {
  // FFN and attention of permuted positions against their results permuted: numbers that differ in
  // any bit, and the distance of attention's.
  size_t ffn_permuted_differences;
  double attention_permuted;
  // Rows of the result that change when one token does.
  size_t ffn_rows_changed, attention_rows_changed;
  // Between the FFN and two convolutions of kernel width 1 with ReLU between.
  double convolution;
  // One word at the same place of two sentences: the input of the FFN before attention and after
  // it, and the FFN's output then.
  double word_before, word_after, word_ffn;
};
PositionWise measure_positions(const nn::LayerOptions& sizes, size_t positions, uint64_t seed,
                               Pool& pool);

}  // namespace rapt::insight

// What a training run takes, told before it starts.
#pragma once
#include "rapt/models/transformer.h"
#include "rapt/train/options.h"

namespace rapt {

struct ShardSize {
  double source_tokens = 0, target_tokens = 0;
};
// Of a full batch of these data.
ShardSize typical_shard(const BatchCounts& counts, const TrainOptions& options);

// Bytes: weights, gradients (one more for each open sum of the tree of shards), both moments, the
// running average, and what a shard of this size keeps for its backward pass. Within 20 % of the
// measured peak of tensors; kernels' scratch, tables of additive scores and the index of the
// corpus are not in it.
size_t estimate_memory(const Transformer& model, const TrainOptions& options, ShardSize shard);

}  // namespace rapt

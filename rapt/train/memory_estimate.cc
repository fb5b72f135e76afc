#include "rapt/train/memory_estimate.h"

#include <algorithm>
#include <bit>

namespace rapt {

ShardSize typical_shard(const BatchCounts& counts, const TrainOptions& options) {
  const auto source = static_cast<double>(counts.source_tokens);
  const auto target = static_cast<double>(counts.target_tokens);
  const double batch = std::min(static_cast<double>(options.batch_tokens),
                                target / static_cast<double>(options.accumulate));
  const double shard = batch / static_cast<double>(options.shards);
  return {target > 0 ? shard * source / target : 0, shard};
}

size_t estimate_memory(const Transformer& model, const TrainOptions& options, ShardSize shard) {
  const ModelConfig& config = model.config();
  const auto parameters = static_cast<double>(model.parameters().elements());
  const auto open_sums = static_cast<double>(std::bit_width(options.shards * options.accumulate));
  const double states = 1 + open_sums + 2 + (options.ema_decay > 0 ? 1 : 0);

  // Floats that a token's row keeps in a layer.
  const auto d = static_cast<double>(config.d_model), f = static_cast<double>(config.d_ff);
  const double attention = 6 * d, feed_forward = 2 * f + 2 * d;
  const double encoder =
      shard.source_tokens * (attention + feed_forward) * static_cast<double>(config.encoder_layers);
  const double cross = shard.target_tokens * attention + shard.source_tokens * 2 * d;
  const double decoder =
      (shard.target_tokens * (attention + feed_forward) + (config.has_encoder() ? cross : 0)) *
      static_cast<double>(config.decoder_layers);
  return static_cast<size_t>(4 * (states * parameters + encoder + decoder));
}

}  // namespace rapt

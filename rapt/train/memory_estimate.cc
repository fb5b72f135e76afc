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

  // Floats that a token's row keeps until the backward pass: of attention Q, K, V, the output, and
  // what goes into and comes out of the norm; of the feed-forward network the inner row (for a smooth
  // activation its argument too, gated its two factors), and the same of its norm. Without a norm
  // there is one row less. Of experts each that a token takes has its input and output besides.
  const auto d = static_cast<double>(config.d_model), f = static_cast<double>(config.inner_width());
  const bool smooth = saved_for(config.activation) == kernels::Saved::kInput;
  const double inner = config.gated ? 3 * f : smooth ? 2 * f : f;
  const bool norms = config.norm != NormKind::kNone && config.residual != Residual::kNone &&
                     config.residual != Residual::kPlain;
  const double join = norms ? 2 * d : d;
  const auto width = [](size_t heads, size_t dim) { return static_cast<double>(heads * dim); };
  const double queries = width(config.heads, config.key_dim()),
               keys = width(config.key_heads(), config.key_dim()),
               values = width(config.key_heads(), config.value_dim()),
               outputs = width(config.heads, config.value_dim());
  // Scores other than the products of Q and K compare rows made of them; a table of additive scores
  // is not counted, for it depends on the lengths of the sentences.
  const bool both = config.score == ScoreKind::kAdditive || config.score == ScoreKind::kCosine;
  const double phi = both || config.score == ScoreKind::kBilinear ? queries : 0;
  const double psi = both ? keys : 0;
  const double attention = queries + keys + values + outputs + phi + psi + join;
  const auto taken = static_cast<double>(config.experts > 0 ? config.experts_top_k : 1);
  const double mixture = taken * (inner + 2 * d) + 3 * static_cast<double>(config.experts) + join;
  const double share = config.experts > 0 ? 1 / static_cast<double>(config.expert_every) : 0;
  const double feed_forward = (1 - share) * (inner + join) + share * mixture;
  const double source = config.has_encoder() ? shard.source_tokens : 0;
  const double target = shard.target_tokens;
  const double encoder =
      source * (attention + feed_forward) * static_cast<double>(config.encoder_layers);
  const double cross = config.has_encoder() ? target * (queries + outputs + phi + join) +
                                                  source * (keys + values + psi)
                                            : 0;
  const double decoder =
      (target * (attention + feed_forward) + cross) * static_cast<double>(config.decoder_layers);
  const double ends = 2 * d * (source + target);  // embeddings, final norms

  // Gradients of the widest layer, while the backward pass is there.
  const double backward = std::max(source, target) * (taken * (config.gated ? 3 : 2) * f + 3 * d);
  // A chunk of logits, the gradient of the output projection, and its packed form.
  const auto vocabulary = static_cast<double>(model.target_vocabulary());
  const double loss = std::min(target, 512.0) * vocabulary + 2 * vocabulary * d + target * d;
  return static_cast<size_t>(4 *
                             (states * parameters + encoder + decoder + ends + backward + loss));
}

}  // namespace rapt

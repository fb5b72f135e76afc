#include "rapt/models/transformer.h"

#include <algorithm>

#include "rapt/models/transformer_impl.h"
#include "rapt/ops/add.h"
#include "rapt/ops/log_softmax.h"
#include "rapt/ops/scale.h"

namespace rapt {
namespace {

Initializer initializer(const InitOptions& init) {
  if (init.init_weights == InitWeights::kXavier) return {.seed = init.seed};
  return {.seed = init.seed, .matrices = Init::normal(init.init_std)};
}

}  // namespace

Transformer::Transformer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Transformer::Transformer(const ModelConfig& config, size_t source_vocabulary,
                         size_t target_vocabulary, const InitOptions& init)
    : impl_(std::make_unique<Impl>(config, source_vocabulary, target_vocabulary,
                                   initializer(init))) {}
Transformer Transformer::without_values(const ModelConfig& config, size_t source_vocabulary,
                                        size_t target_vocabulary) {
  return Transformer(
      std::make_unique<Impl>(config, source_vocabulary, target_vocabulary, Initializer::none()));
}
Transformer::~Transformer() = default;
Transformer::Transformer(Transformer&&) noexcept = default;
Transformer& Transformer::operator=(Transformer&&) noexcept = default;

const ModelConfig& Transformer::config() const { return impl_->config; }
size_t Transformer::source_vocabulary() const { return impl_->source_vocabulary; }
size_t Transformer::target_vocabulary() const { return impl_->target_vocabulary; }
ParameterSet& Transformer::parameters() { return impl_->parameters; }
const ParameterSet& Transformer::parameters() const { return impl_->parameters; }
void Transformer::pack(Precision precision) { impl_->pack(precision); }

Var Transformer::decoder_output(Context& ctx, const Shard& shard) const {
  const Impl& m = *impl_;
  m.check_ids("target", shard.target_in, shard.target, m.target_vocabulary);
  if (!m.config.has_encoder()) {
    const Var y = (*m.target_embedding)(ctx, shard.target_in, shard.target);
    return (*m.decoder_only)(ctx, y, shard.target, ops::Band::causal_top_left());
  }
  m.check_ids("source", shard.source_ids, shard.source, m.source_vocabulary);
  check(shard.source.sequences() == shard.target.sequences(), "shard: ", shard.source.sequences(),
        " sources, ", shard.target.sequences(), " targets");
  const Var memory = m.encode(ctx, shard.source_ids, shard.source);
  const Var y = (*m.target_embedding)(ctx, shard.target_in, shard.target);
  return (*m.decoder)(ctx, y, shard.target, memory, shard.source);
}

Transformer::Loss Transformer::loss(Context& ctx, const Shard& shard,
                                    const ops::LossOptions& options, float balance) const {
  const size_t before = ctx.side_losses().size();
  const ops::CrossEntropy loss =
      impl_->output->loss(ctx, decoder_output(ctx, shard), shard.target_out, options);
  Var objective = loss.objective;
  const float weight = balance * static_cast<float>(shard.target.rows());
  if (weight > 0) {
    for (const Context::SideLoss& side : ctx.side_losses().subspan(before)) {
      objective = ops::add(ctx, objective, ops::scale(ctx, side.value, weight));
    }
  }
  return {objective, loss.nll};
}

Tensor Transformer::token_log_probabilities(Context& ctx, const Shard& shard) const {
  impl_->check_ids("target_out", shard.target_out, shard.target, target_vocabulary());
  const Tensor y = decoder_output(ctx, shard).value();
  const Tensor log_p = ctx.empty({y.rows()});
  constexpr size_t kRows = 256;  // of logits at once
  for (size_t begin = 0; begin < y.rows(); begin += kRows) {
    const size_t end = std::min(begin + kRows, y.rows());
    const Var logits = (*impl_->output)(ctx, y.slice_rows(begin, end));
    const ops::LogProbabilities rows(ctx, logits.value());
    for (size_t r = begin; r < end; ++r) {
      log_p.data()[r] = rows.row(r - begin)[static_cast<size_t>(shard.target_out[r])];
    }
  }
  return log_p;
}

}  // namespace rapt

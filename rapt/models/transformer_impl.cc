#include "rapt/models/transformer_impl.h"

#include <cmath>

namespace rapt {

Transformer::Impl::Impl(const ModelConfig& c, size_t sources, size_t targets,
                        const Initializer& initializer)
    : config(c), source_vocabulary(sources), target_vocabulary(targets), parameters(initializer) {
  c.validate();
  check(targets > 0, "the target vocabulary is empty");
  check(c.has_encoder() == (sources > 0), "a model of architecture '", name_of(c.architecture),
        "' with a source vocabulary of ", sources);
  check(c.tie != Tie::kAll || sources == targets, "tie is 'all', but the source vocabulary has ",
        sources, " entries and the target's ", targets, "; choose a joint vocabulary");

  if (c.positions == Positions::kRotary) {
    rotary_ =
        nn::RotaryPositions(c.key_dim(), static_cast<double>(c.rotary_base), c.position_layout);
  }
  const Scope root(parameters);
  root.describe("Transformer");
  const Init normal =
      Init::normal(static_cast<float>(1 / std::sqrt(static_cast<double>(c.d_model))));
  const auto table = [&](const char* name, size_t vocabulary) -> Weight& {
    return (root / name).weight("weight", vocabulary, c.d_model, normal);
  };

  Weight* source = nullptr;
  if (c.has_encoder()) {
    source = &table("source_embedding", sources);
    source_embedding.emplace(embedding(root, "source", *source));
    const auto scales = nn::DeepNorm::encoder(c.encoder_layers, c.decoder_layers);
    encoder.emplace(root / "encoder", c.encoder_layers, layer_options(scales), c.final_norm);
  }

  Weight* target = source;
  if (c.tie == Tie::kAll) {
    (root / "target_embedding").tie("weight", *source);
  } else {
    target = &table("target_embedding", targets);
  }
  target_embedding.emplace(embedding(root, "target", *target));
  if (c.has_encoder()) {
    const auto scales = nn::DeepNorm::decoder(c.decoder_layers);
    decoder.emplace(root / "decoder", c.decoder_layers, layer_options(scales), c.final_norm);
  } else {
    const auto scales = nn::DeepNorm::alone(c.decoder_layers);
    decoder_only.emplace(root / "decoder", c.decoder_layers, layer_options(scales), c.final_norm);
  }

  const Scope out = root / "output";
  Weight* projection = target;
  if (c.tie == Tie::kNone) {
    projection = &out.weight("weight", targets, c.d_model, Init::xavier());
    looked_up_.insert(target);
  } else {
    out.tie("weight", *target);
  }
  if (source != nullptr && source != projection) looked_up_.insert(source);
  const Parameter* bias =
      c.output_bias ? &out.parameter("bias", {targets}, Init::zeros()) : nullptr;
  output.emplace(out, *projection, bias);
}

nn::LayerOptions Transformer::Impl::layer_options(const nn::DeepNorm& constants) const {
  return {.d_model = config.d_model,
          .heads = config.heads,
          .d_ff = config.inner_width(),
          .d_k = config.d_k,
          .d_v = config.d_v,
          .kv_heads = config.kv_heads,
          .score = config.score,
          .attention_sink = config.attention_sink,
          .window = config.window,
          .alibi = config.positions == Positions::kAlibi,
          .rotary = rotary_,
          .residual = config.residual,
          .deep_norm = config.residual == Residual::kDeepNorm ? constants : nn::DeepNorm(),
          .norm = config.norm,
          .norm_eps = config.norm_eps,
          .activation = config.activation,
          .gated = config.gated,
          .experts = config.experts,
          .experts_top_k = config.experts_top_k,
          .expert_every = config.expert_every,
          .dropout_attention = config.dropout_attention,
          .dropout_activation = config.dropout_activation,
          .dropout_residual = config.dropout_residual};
}

nn::Embedding Transformer::Impl::embedding(const Scope& root, const std::string& side,
                                           const Weight& table) {
  nn::PositionTable positions;
  const double d_model = static_cast<double>(config.d_model);
  if (config.positions == Positions::kSinusoidal) {
    positions = nn::PositionTable::sinusoidal(config.d_model, config.position_layout);
  } else if (config.positions == Positions::kLearned) {
    const Init normal = Init::normal(static_cast<float>(1 / std::sqrt(d_model)));
    const Scope scope = root / (side + "_positions");
    scope.describe("Positions");
    const Weight& learned = scope.weight("weight", config.max_positions, config.d_model, normal);
    looked_up_.insert(&learned);
    positions = nn::PositionTable::learned(learned);
  }
  const float scale = config.scale_embedding ? static_cast<float>(std::sqrt(d_model)) : 1.0f;
  return nn::Embedding(root / (side + "_embedding"), table, std::move(positions), scale,
                       config.dropout_embedding);
}

void Transformer::Impl::check_ids(std::string_view what, std::span<const int32_t> ids,
                                  const Lengths& lengths, size_t vocabulary) const {
  check(ids.size() == lengths.rows(), what, ": ", ids.size(), " ids for ", lengths.rows(), " rows");
  for (const int32_t id : ids) {
    check(id >= 0 && static_cast<size_t>(id) < vocabulary, what, ": id ", id,
          " is not in the vocabulary of ", vocabulary);
  }
  for (size_t s = 0; s < lengths.sequences(); ++s) {
    const size_t end = size_t{lengths[s].past} + lengths[s].size;
    check(end <= config.max_positions, what, ": a sequence of ", end,
          " tokens is longer than max_positions ", config.max_positions);
  }
}

void Transformer::Impl::pack(Precision precision) {
  for (Weight* weight : parameters.weights()) {
    if (!looked_up_.contains(weight)) weight->pack(precision);
  }
  MemoryPool::process().trim();  // one packed weight after another took the memory of the last
}

}  // namespace rapt

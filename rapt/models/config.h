// Every choice that changes what a model computes. config.json holds all of them; a missing or an
// unknown key is an error, so that a model never runs with other mathematics than it was trained
// with. Sizes of vocabularies are not here: they are those of the vocabulary files.
#pragma once
#include "rapt/base/options.h"
#include "rapt/io/json.h"
#include "rapt/kernels/activation.h"
#include "rapt/nn/layer_options.h"
#include "rapt/nn/positions.h"

namespace rapt {

enum class Architecture { kEncoderDecoder, kDecoder };
enum class Tie {
  kNone,     // three tables
  kDecoder,  // target embedding = output projection (Press and Wolf, 2017)
  kAll,      // and the source embedding: needs a joint vocabulary
};
enum class InitWeights {
  kXavier,  // uniform, as nn.Transformer; embeddings N(0, 1 / d_model)
  kNormal,  // N(0, init_std) for all matrices, as GPT-2
};

template <>
inline constexpr auto kNames<Architecture> = names<Architecture>(
    {{Architecture::kEncoderDecoder, "encoder-decoder"}, {Architecture::kDecoder, "decoder"}});
template <>
inline constexpr auto kNames<Residual> = names<Residual>({{Residual::kNone, "none"},
                                                          {Residual::kPlain, "plain"},
                                                          {Residual::kPost, "post"},
                                                          {Residual::kPre, "pre"},
                                                          {Residual::kBranch, "branch"},
                                                          {Residual::kDeepNorm, "deepnorm"}});
template <>
inline constexpr auto kNames<NormKind> = names<NormKind>({{NormKind::kLayer, "layer"},
                                                          {NormKind::kRms, "rms"},
                                                          {NormKind::kBatch, "batch"},
                                                          {NormKind::kNone, "none"}});
template <>
inline constexpr auto kNames<ScoreKind> = names<ScoreKind>({{ScoreKind::kScaledDot, "scaled-dot"},
                                                            {ScoreKind::kDot, "dot"},
                                                            {ScoreKind::kBilinear, "bilinear"},
                                                            {ScoreKind::kAdditive, "additive"},
                                                            {ScoreKind::kCosine, "cosine"}});
template <>
inline constexpr auto kNames<Positions> = names<Positions>({{Positions::kSinusoidal, "sinusoidal"},
                                                            {Positions::kLearned, "learned"},
                                                            {Positions::kRotary, "rotary"},
                                                            {Positions::kAlibi, "alibi"},
                                                            {Positions::kNone, "none"}});
template <>
inline constexpr auto kNames<PositionLayout> = names<PositionLayout>(
    {{PositionLayout::kInterleaved, "interleaved"}, {PositionLayout::kHalves, "halves"}});
template <>
inline constexpr auto kNames<Tie> =
    names<Tie>({{Tie::kNone, "none"}, {Tie::kDecoder, "decoder"}, {Tie::kAll, "all"}});
template <>
inline constexpr auto kNames<InitWeights> = names<InitWeights>({{InitWeights::kXavier, "xavier"},
                                                                {InitWeights::kNormal, "normal"}});
struct ModelConfig {
  Architecture architecture = Architecture::kEncoderDecoder;
  size_t d_model = 256;
  size_t heads = 4;
  size_t d_k = 0, d_v = 0;  // of a head; 0: d_model / heads
  size_t kv_heads = 0;      // 0: heads
  size_t window = 0;        // 0: none
  bool attention_sink = false;
  ScoreKind score = ScoreKind::kScaledDot;
  size_t d_ff = 0;  // 0: 4 d_model
  size_t encoder_layers = 3, decoder_layers = 3;
  Residual residual = Residual::kPost;
  NormKind norm = NormKind::kLayer;
  float norm_eps = 1e-5f;
  bool final_norm = true;  // after each stack, as in nn.Transformer
  kernels::Activation activation = kernels::Activation::kRelu;
  bool gated = false;
  size_t experts = 0, experts_top_k = 2, expert_every = 1;
  Positions positions = Positions::kSinusoidal;
  PositionLayout position_layout = PositionLayout::kInterleaved;
  float rotary_base = 10000;
  size_t max_positions = 1024;
  bool scale_embedding = true;  // times sqrt(d_model)
  Tie tie = Tie::kDecoder;
  bool output_bias = false;
  float dropout_embedding = 0.1f, dropout_attention = 0.1f;
  float dropout_activation = 0.1f, dropout_residual = 0.1f;

  size_t inner_width() const { return d_ff > 0 ? d_ff : 4 * d_model; }
  size_t key_dim() const { return nn::head_width(d_k, d_model, heads); }
  size_t value_dim() const { return nn::head_width(d_v, d_model, heads); }
  size_t key_heads() const { return kv_heads == 0 ? heads : kv_heads; }
  bool has_encoder() const { return architecture == Architecture::kEncoderDecoder; }
  // Throws InvalidArgument: a number out of its range, heads that do not divide d_model.
  void validate() const;

  template <class Self, class Visitor>
  static void fields(Self& c, Visitor&& visit) {
    visit("architecture", c.architecture, "encoder-decoder for pairs, decoder for one text");
    visit("d_model", c.d_model, Range{1, 1 << 16}, "width of the model");
    visit("heads", c.heads, Range{1, 1024},
          "attention heads; must divide d_model, or d_k and d_v are given");
    visit("d_k", c.d_k, Range{0, 1 << 12},
          "width of a head's queries and keys; 0: d_model / heads");
    visit("d_v", c.d_v, Range{0, 1 << 12}, "width of a head's values; 0: d_model / heads");
    visit("score", c.score, "what attention compares queries and keys by");
    visit("kv_heads", c.kv_heads, Range{0, 1024},
          "heads of keys and values, shared by groups of query heads; must divide heads; 0: heads");
    visit(
        "window", c.window, Range{0, 1 << 24},
        "self-attention sees this many tokens before its own (in the encoder also after); 0: all");
    visit("attention_sink", c.attention_sink,
          "a learned logit per head that joins each softmax and takes weight off the keys");
    visit("d_ff", c.d_ff, Range{0, 1 << 18},
          "inner width of the feed-forward network; 0: 4 d_model, as the paper's");
    visit("encoder_layers", c.encoder_layers, Range{0, 1024}, "layers of the encoder");
    visit("decoder_layers", c.decoder_layers, Range{1, 1024}, "layers of the decoder");
    visit("residual", c.residual,
          "none: f(x); plain: x + f(x); post: Norm(x + f(x)), the paper's; pre: x + f(Norm(x)); "
          "branch: x + Norm(f(x)); deepnorm: Norm(alpha x + f(x)), for hundreds of layers");
    visit("norm", c.norm,
          "layer and rms: of each row; rms without mean and bias; batch: of each column, over the "
          "tokens of a batch in training and by running statistics after it");
    visit("norm_eps", c.norm_eps, Range{0, 1}, "added to the variance in a norm");
    visit("final_norm", c.final_norm,
          "norm after each stack, as in nn.Transformer; off for residual none and plain unless "
          "given");
    visit("activation", c.activation, "of the feed-forward network; none: it is linear");
    visit(
        "gated", c.gated,
        "feed-forward network (f(xW1+b1) * (xW3+b3)) W2 + b2: GLU with sigmoid, SwiGLU with silu");
    visit("experts", c.experts, Range{0, 1024},
          "feed-forward networks of a layer, of which each token takes a few; 0: one for all");
    visit("experts_top_k", c.experts_top_k, Range{1, 1024}, "experts that each token takes");
    visit("expert_every", c.expert_every, Range{1, 1024},
          "of so many layers the last has experts; 1: all layers");
    visit("positions", c.positions, "how the model knows the order");
    visit("position_layout", c.position_layout, "of sinusoidal and rotary positions");
    visit("rotary_base", c.rotary_base, Range{1, 1e9},
          "of rotary positions: pair i turns by base^(-2i / d_k) a token");
    visit("max_positions", c.max_positions, Range{1, 1 << 24}, "longest sentence, in tokens");
    visit("scale_embedding", c.scale_embedding, "embeddings times sqrt(d_model)");
    visit("tie", c.tie, "which embeddings and output projection are one matrix");
    visit("output_bias", c.output_bias, "a bias in the output projection");
    visit("dropout_embedding", c.dropout_embedding, Range{0, 0.99},
          "dropout after embedding and positions");
    visit("dropout_attention", c.dropout_attention, Range{0, 0.99}, "dropout of attention weights");
    visit("dropout_activation", c.dropout_activation, Range{0, 0.99},
          "dropout inside the feed-forward network");
    visit("dropout_residual", c.dropout_residual, Range{0, 0.99},
          "dropout of each sub-layer's output");
  }
};

// How new weights are drawn: not part of what a trained model computes.
struct InitOptions {
  InitWeights init_weights = InitWeights::kXavier;
  float init_std = 0.02f;
  uint64_t seed = 1;
};

Json to_json(const ModelConfig& config);
// Reads the keys of `fields`; throws IoError naming the file and the key.
ModelConfig config_of_json(const JsonObject& object);

}  // namespace rapt

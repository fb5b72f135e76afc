// Models that differ from tiny_config() in one choice, or in a few that touch each other.
#pragma once
#include <functional>
#include <ostream>

#include "rapt/models/tiny_model_test.h"

namespace rapt::testing {

struct Variant {
  const char* name;
  std::function<void(ModelConfig&)> change;
};
inline void PrintTo(const Variant& v, std::ostream* out) { *out << v.name; }

using kernels::Activation;
inline const Variant kVariants[] = {
    {"paper", [](ModelConfig&) {}},
    {"heads", [](ModelConfig& c) { c.heads = 4; }},
    {"one_head", [](ModelConfig& c) { c.heads = 1; }},
    {"d_k", [](ModelConfig& c) { c.d_k = 7; }},
    {"d_v", [](ModelConfig& c) { c.d_v = 4; }},
    {"free_heads", [](ModelConfig& c) { c.heads = 5, c.d_k = 3, c.d_v = 2; }},
    {"dot", [](ModelConfig& c) { c.score = ScoreKind::kDot; }},
    {"bilinear", [](ModelConfig& c) { c.score = ScoreKind::kBilinear; }},
    {"additive",
     [](ModelConfig& c) { c.score = ScoreKind::kAdditive, c.dropout_attention = 0.3f; }},
    {"cosine", [](ModelConfig& c) { c.score = ScoreKind::kCosine; }},
    {"additive_decoder",
     [](ModelConfig& c) {
       c = tiny_decoder_config();
       c.score = ScoreKind::kAdditive, c.d_k = 5, c.d_v = 3;
     }},
    {"d_model", [](ModelConfig& c) { c.d_model = 18; }},
    {"d_ff", [](ModelConfig& c) { c.d_ff = 33; }},
    {"no_encoder_layer", [](ModelConfig& c) { c.encoder_layers = 0; }},
    {"encoder_layers", [](ModelConfig& c) { c.encoder_layers = 3; }},
    {"decoder_layers", [](ModelConfig& c) { c.decoder_layers = 1; }},
    {"pre", [](ModelConfig& c) { c.residual = Residual::kPre; }},
    {"no_residual", [](ModelConfig& c) { c.residual = Residual::kNone; }},
    {"plain", [](ModelConfig& c) { c.residual = Residual::kPlain; }},
    {"branch", [](ModelConfig& c) { c.residual = Residual::kBranch; }},
    {"deepnorm", [](ModelConfig& c) { c.residual = Residual::kDeepNorm; }},
    {"deepnorm_depths",
     [](ModelConfig& c) {
       c.residual = Residual::kDeepNorm;
       c.encoder_layers = 3;
     }},
    {"rms", [](ModelConfig& c) { c.norm = NormKind::kRms; }},
    {"no_norm", [](ModelConfig& c) { c.norm = NormKind::kNone; }},
    {"rms_pre",
     [](ModelConfig& c) {
       c.norm = NormKind::kRms;
       c.residual = Residual::kPre;
     }},
    {"batch", [](ModelConfig& c) { c.norm = NormKind::kBatch; }},
    {"batch_pre_dropout",
     [](ModelConfig& c) {
       c.norm = NormKind::kBatch;
       c.residual = Residual::kPre;
       c.dropout_residual = 0.2f;
     }},
    {"rms_deepnorm_dropout",
     [](ModelConfig& c) {
       c.norm = NormKind::kRms;
       c.residual = Residual::kDeepNorm;
       c.dropout_residual = 0.2f;
     }},
    {"deepnorm_dropout",
     [](ModelConfig& c) {
       c.residual = Residual::kDeepNorm;
       c.dropout_residual = 0.2f;
     }},
    {"branch_dropout",
     [](ModelConfig& c) {
       c.residual = Residual::kBranch;
       c.dropout_residual = 0.2f;
     }},
    {"norm_eps", [](ModelConfig& c) { c.norm_eps = 0.3f; }},
    {"no_final_norm", [](ModelConfig& c) { c.final_norm = false; }},
    {"gelu", [](ModelConfig& c) { c.activation = Activation::kGelu; }},
    {"gelu_tanh", [](ModelConfig& c) { c.activation = Activation::kGeluTanh; }},
    {"silu", [](ModelConfig& c) { c.activation = Activation::kSilu; }},
    {"linear", [](ModelConfig& c) { c.activation = kernels::Activation::kNone; }},
    {"glu",
     [](ModelConfig& c) {
       c.activation = kernels::Activation::kSigmoid;
       c.gated = true;
     }},
    {"swiglu",
     [](ModelConfig& c) {
       c.activation = kernels::Activation::kSilu;
       c.gated = true;
       c.dropout_activation = 0.3f;
     }},
    {"experts", [](ModelConfig& c) { c.experts = 3; }},
    {"one_of_two_experts",
     [](ModelConfig& c) {
       c.experts = c.expert_every = 2;
       c.experts_top_k = 1;
     }},
    {"gated_experts",
     [](ModelConfig& c) {
       c = tiny_decoder_config();
       c.experts = 3;
       c.gated = true;
       c.dropout_activation = 0.3f;
     }},
    {"learned", [](ModelConfig& c) { c.positions = Positions::kLearned; }},
    {"no_positions", [](ModelConfig& c) { c.positions = Positions::kNone; }},
    {"halves", [](ModelConfig& c) { c.position_layout = PositionLayout::kHalves; }},
    {"grouped_queries",
     [](ModelConfig& c) {
       c.heads = 4;
       c.kv_heads = 2;
     }},
    {"one_key_head",
     [](ModelConfig& c) {
       c.heads = 3;
       c.kv_heads = 1;
       c.d_v = 5;
     }},
    {"window", [](ModelConfig& c) { c.window = 2; }},
    {"rotary",
     [](ModelConfig& c) {
       c.positions = Positions::kRotary;
       c.rotary_base = 20;
     }},
    {"rotary_halves",
     [](ModelConfig& c) {
       c.positions = Positions::kRotary;
       c.position_layout = PositionLayout::kHalves;
     }},
    {"alibi",
     [](ModelConfig& c) {
       c.positions = Positions::kAlibi;
       c.heads = 3;
     }},
    {"attention_sink", [](ModelConfig& c) { c.attention_sink = true; }},
    {"alibi_and_all_masks",
     [](ModelConfig& c) {
       c = all_masks(c, Positions::kAlibi);
       c.dropout_attention = 0.2f;
     }},
    {"additive_score_and_all_masks",
     [](ModelConfig& c) {
       c = all_masks(c, Positions::kRotary);
       c.score = ScoreKind::kAdditive;
     }},
    {"bilinear_score_and_all_masks",
     [](ModelConfig& c) {
       c = all_masks(c, Positions::kAlibi);
       c.score = ScoreKind::kBilinear;
     }},
    {"decoder_rotary_and_all_masks",
     [](ModelConfig& c) { c = all_masks(tiny_decoder_config(), Positions::kRotary); }},
    {"unscaled", [](ModelConfig& c) { c.scale_embedding = false; }},
    {"tie_decoder", [](ModelConfig& c) { c.tie = Tie::kDecoder; }},
    {"tie_all", [](ModelConfig& c) { c.tie = Tie::kAll; }},
    {"no_output_bias", [](ModelConfig& c) { c.output_bias = false; }},
    {"dropout_embedding", [](ModelConfig& c) { c.dropout_embedding = 0.3f; }},
    {"dropout_attention", [](ModelConfig& c) { c.dropout_attention = 0.3f; }},
    {"dropout_activation", [](ModelConfig& c) { c.dropout_activation = 0.3f; }},
    {"dropout_residual", [](ModelConfig& c) { c.dropout_residual = 0.3f; }},
    {"everything_pre",
     [](ModelConfig& c) {
       c.residual = Residual::kPre;
       c.dropout_embedding = c.dropout_attention = 0.1f;
       c.dropout_activation = c.dropout_residual = 0.2f;
     }},
    {"decoder", [](ModelConfig& c) { c = tiny_decoder_config(); }},
    {"decoder_deepnorm",
     [](ModelConfig& c) {
       c = tiny_decoder_config();
       c.residual = Residual::kDeepNorm;
     }},
    {"decoder_post",
     [](ModelConfig& c) {
       c = tiny_decoder_config();
       c.residual = Residual::kPost;
       c.dropout_attention = c.dropout_residual = 0.2f;
     }},
};

}  // namespace rapt::testing

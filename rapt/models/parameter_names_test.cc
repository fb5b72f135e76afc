// Names and shapes of parameters are those of PyTorch's state dict: a file of one is read by the
// other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "rapt/models/tiny_model_test.h"

namespace rapt {
namespace {

using testing::kSourceVocabulary;
using testing::kTargetVocabulary;
using testing::tiny_config;
using testing::tiny_decoder_config;
using testing::tiny_model;

using Shapes = std::map<std::string, Shape>;
constexpr size_t kE = 12, kF = 10;

Shapes shapes_of(const Transformer& model) {
  Shapes shapes;
  for (const Parameter* p : model.parameters().stored()) shapes[p->name] = p->value.shape();
  return shapes;
}

void add_attention(Shapes& s, const std::string& name) {
  s[name + ".in_proj_weight"] = {3 * kE, kE};
  s[name + ".in_proj_bias"] = {3 * kE};
  s[name + ".out_proj.weight"] = {kE, kE};
  s[name + ".out_proj.bias"] = {kE};
}
void add_norm(Shapes& s, const std::string& name) {
  s[name + ".weight"] = s[name + ".bias"] = {kE};
}
// torch.nn.TransformerEncoderLayer(d_model=12, dim_feedforward=10).state_dict(), and with
// `cross` TransformerDecoderLayer's.
void add_layer(Shapes& s, const std::string& name, bool cross) {
  add_attention(s, name + ".self_attn");
  if (cross) add_attention(s, name + ".multihead_attn");
  s[name + ".linear1.weight"] = {kF, kE};
  s[name + ".linear1.bias"] = {kF};
  s[name + ".linear2.weight"] = {kE, kF};
  s[name + ".linear2.bias"] = {kE};
  for (const char* norm : {".norm1", ".norm2"}) add_norm(s, name + norm);
  if (cross) add_norm(s, name + ".norm3");
}

TEST(ParameterNames, OfAnEncoderDecoderAreThoseOfNnTransformer) {
  Shapes expected = {{"source_embedding.weight", {kSourceVocabulary, kE}},
                     {"target_embedding.weight", {kTargetVocabulary, kE}},
                     {"output.weight", {kTargetVocabulary, kE}},
                     {"output.bias", {kTargetVocabulary}}};
  for (const char* i : {"0", "1"}) {
    add_layer(expected, std::string("encoder.layers.") + i, false);
    add_layer(expected, std::string("decoder.layers.") + i, true);
  }
  add_norm(expected, "encoder.norm");
  add_norm(expected, "decoder.norm");
  EXPECT_EQ(shapes_of(tiny_model(tiny_config())), expected);

  ModelConfig config = tiny_config();
  config.final_norm = config.output_bias = false;
  config.tie = Tie::kAll;
  config.positions = Positions::kLearned;
  for (const char* gone :
       {"encoder.norm.weight", "encoder.norm.bias", "decoder.norm.weight", "decoder.norm.bias",
        "output.bias", "output.weight", "target_embedding.weight"}) {
    expected.erase(gone);
  }
  expected["source_embedding.weight"] = {kTargetVocabulary, kE};
  expected["source_positions.weight"] = expected["target_positions.weight"] = {32, kE};
  const Transformer tied = tiny_model(config);
  EXPECT_EQ(shapes_of(tied), expected);
  const Parameter* table = tied.parameters().find("source_embedding.weight");
  EXPECT_EQ(tied.parameters().find("target_embedding.weight"), table);
  EXPECT_EQ(tied.parameters().find("output.weight"), table);
}

TEST(ParameterNames, OfADecoderAreThoseOfTransformerEncoderLayers) {
  Shapes expected = {{"target_embedding.weight", {kTargetVocabulary, kE}},
                     {"target_positions.weight", {32, kE}},
                     {"output.bias", {kTargetVocabulary}}};
  for (const char* i : {"0", "1"}) add_layer(expected, std::string("decoder.layers.") + i, false);
  add_norm(expected, "decoder.norm");
  const Transformer model = tiny_model(tiny_decoder_config());
  EXPECT_EQ(shapes_of(model), expected);
  EXPECT_EQ(model.parameters().find("output.weight"),
            model.parameters().find("target_embedding.weight"));
}

// torch.nn.RMSNorm has no bias; without a norm there are none of its names.
TEST(ParameterNames, OfNormsAreThoseOfTheirModules) {
  const auto norms = [](NormKind norm, Residual residual) {
    ModelConfig config = tiny_decoder_config();
    config.norm = norm;
    config.residual = residual;
    const Transformer model = tiny_model(config);
    std::vector<std::string> names;
    for (const auto& [name, shape] : shapes_of(model)) {
      if (name.find("norm") != std::string::npos && name.find("layers.1") == std::string::npos) {
        names.push_back(name);
      }
    }
    return names;
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(norms(NormKind::kRms, Residual::kPost),
              ElementsAre("decoder.layers.0.norm1.weight", "decoder.layers.0.norm2.weight",
                          "decoder.norm.weight"));
  EXPECT_THAT(norms(NormKind::kNone, Residual::kPre), ElementsAre());
  EXPECT_THAT(
      norms(NormKind::kBatch, Residual::kPlain),
      ElementsAre("decoder.norm.bias", "decoder.norm.num_batches_tracked",
                  "decoder.norm.running_mean", "decoder.norm.running_var", "decoder.norm.weight"));
  EXPECT_THAT(norms(NormKind::kLayer, Residual::kPlain),
              ElementsAre("decoder.norm.bias", "decoder.norm.weight"));
}

TEST(ParameterNames, HeadsOfAnyWidthKeepTheOrderOfTheirParts) {
  ModelConfig config = tiny_config();
  config.heads = 5;
  config.d_k = 3;
  config.d_v = 2;
  const Shapes shapes = shapes_of(tiny_model(config));
  for (const char* name : {"encoder.layers.0.self_attn", "decoder.layers.1.multihead_attn"}) {
    EXPECT_EQ(shapes.at(std::string(name) + ".in_proj_weight"), (Shape{5 * (3 + 3 + 2), kE}));
    EXPECT_EQ(shapes.at(std::string(name) + ".in_proj_bias"), (Shape{5 * (3 + 3 + 2)}));
    EXPECT_EQ(shapes.at(std::string(name) + ".out_proj.weight"), (Shape{kE, 5 * 2}));
    EXPECT_EQ(shapes.at(std::string(name) + ".out_proj.bias"), (Shape{kE}));
  }
}

// Groups of query heads share the rows of a key head; a sink has a logit for each query head.
TEST(ParameterNames, GroupedQueriesHaveFewerKeys) {
  ModelConfig config = tiny_config();
  config.heads = 6;
  config.kv_heads = 2;
  config.attention_sink = true;
  const Shapes shapes = shapes_of(tiny_model(config));
  for (const char* name : {"encoder.layers.0.self_attn", "decoder.layers.1.multihead_attn"}) {
    EXPECT_EQ(shapes.at(std::string(name) + ".in_proj_weight"), (Shape{(6 + 2 + 2) * 2, kE}));
    EXPECT_EQ(shapes.at(std::string(name) + ".in_proj_bias"), (Shape{(6 + 2 + 2) * 2}));
    EXPECT_EQ(shapes.at(std::string(name) + ".out_proj.weight"), (Shape{kE, kE}));
    EXPECT_EQ(shapes.at(std::string(name) + ".sink"), (Shape{6}));
  }
}

TEST(ParameterNames, ExpertsAreNetworksOfChosenLayers) {
  ModelConfig config = tiny_config();
  config.encoder_layers = 4;
  config.experts = 2;
  config.expert_every = 2;
  config.gated = true;
  const Shapes shapes = shapes_of(tiny_model(config));
  for (const std::string i : {"0", "1", "2", "3"}) {
    const std::string layer = "encoder.layers." + i;
    const bool mixture = i == "1" || i == "3";
    EXPECT_EQ(shapes.contains(layer + ".gate.weight"), mixture) << layer;
    EXPECT_EQ(shapes.contains(layer + ".linear1.weight"), !mixture) << layer;
    const std::string network = mixture ? layer + ".experts.1" : layer;
    EXPECT_EQ(shapes.at(network + ".linear1.weight"), (Shape{kF, kE}));
    EXPECT_EQ(shapes.at(network + ".linear3.weight"), (Shape{kF, kE}));
    EXPECT_EQ(shapes.at(network + ".linear3.bias"), (Shape{kF}));
    EXPECT_EQ(shapes.at(network + ".linear2.weight"), (Shape{kE, kF}));
  }
  EXPECT_EQ(shapes.at("encoder.layers.1.gate.weight"), (Shape{2, kE}));
}

TEST(ParameterNames, TheInnerWidthIsFourTimesTheModelsUnlessGiven) {
  ModelConfig config = tiny_config();
  config.d_ff = 0;
  EXPECT_EQ(shapes_of(tiny_model(config)).at("encoder.layers.0.linear1.weight"),
            (Shape{4 * kE, kE}));
}

TEST(ParameterNames, MatricesDecayAndVectorsDoNot) {
  const Transformer model = tiny_model(tiny_decoder_config());
  for (size_t i = 0; i < model.parameters().size(); ++i) {
    const Parameter& p = model.parameters()[i];
    EXPECT_EQ(p.decay, p.value.shape().rank() == 2) << p.name;
  }
}

// GPT-2 small has 124,439,808 parameters, nanoGPT's count with its positions.
TEST(ParameterNames, GptTwoHasItsNumberOfParameters) {
  ModelConfig c = tiny_decoder_config();
  c.d_model = 768;
  c.heads = 12;
  c.d_ff = 3072;
  c.decoder_layers = 12;
  c.max_positions = 1024;
  c.output_bias = false;
  const Transformer model = Transformer::without_values(c, 0, 50257);
  size_t elements = 0;
  for (size_t i = 0; i < model.parameters().size(); ++i) {
    elements += model.parameters()[i].value.shape().elements();
  }
  EXPECT_EQ(elements, 124439808u);
}

}  // namespace
}  // namespace rapt

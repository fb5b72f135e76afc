#include "rapt/models/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rapt {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

ModelConfig unusual() {
  ModelConfig c;
  c.architecture = Architecture::kDecoder;
  c.d_model = 48;
  c.heads = 6;
  c.d_k = 5;
  c.d_v = 9;
  c.kv_heads = 3;
  c.window = 12;
  c.attention_sink = true;
  c.rotary_base = 500;
  c.score = ScoreKind::kCosine;
  c.d_ff = 77;
  c.encoder_layers = 5;
  c.decoder_layers = 7;
  c.residual = Residual::kPre;
  c.norm = NormKind::kRms;
  c.norm_eps = 1e-6f;
  c.final_norm = false;
  c.activation = kernels::Activation::kGeluTanh;
  c.gated = true;
  c.experts = 6;
  c.experts_top_k = 3;
  c.expert_every = 4;
  c.positions = Positions::kLearned;
  c.position_layout = PositionLayout::kHalves;
  c.max_positions = 99;
  c.scale_embedding = false;
  c.tie = Tie::kNone;
  c.output_bias = true;
  c.dropout_embedding = 0.3f;
  c.dropout_attention = 0.05f;
  c.dropout_activation = 0.15f;
  c.dropout_residual = 0.25f;
  return c;
}

ModelConfig read(const Json& json) { return config_of_json(JsonObject(json, "m/config.json")); }

TEST(ModelConfig, JsonHoldsEveryFieldAndGivesItBack) {
  const Json json = to_json(unusual());
  const Json standard = to_json(ModelConfig());
  for (const auto& member : json.items()) {
    EXPECT_NE(member.value(), standard[member.key()]) << member.key();  // each field differs
  }
  EXPECT_EQ(to_json(read(json)), json);
  EXPECT_EQ(json["residual"], "pre");
  EXPECT_EQ(json["activation"], "gelu_tanh");
  EXPECT_EQ(json["norm_eps"].dump(), "1e-06");
  EXPECT_EQ(json["dropout_embedding"].dump(), "0.3");
}

TEST(ModelConfig, AMissingKeyIsAnError) {
  const Json whole = to_json(unusual());
  for (const auto& member : whole.items()) {
    Json json = whole;
    json.erase(member.key());
    EXPECT_THAT([&] { read(json); },
                ThrowsMessage<IoError>(AllOf(HasSubstr("m/config.json"), HasSubstr(member.key()))));
  }
}

TEST(ModelConfig, WrongValuesAreNamed) {
  const auto with = [](const char* key, const Json& value) {
    Json json = to_json(unusual());
    json["d_k"] = 0;
    json[key] = value;
    return json;
  };
  const auto expect = [&](const char* key, const Json& value, const char* message) {
    EXPECT_THAT([&] { read(with(key, value)); },
                ThrowsMessage<IoError>(AllOf(HasSubstr("m/config.json"), HasSubstr(message))));
  };
  expect("heads", 0, "heads");
  expect("heads", 5, "d_model is 48, which 5 heads do not divide");
  expect("d_k", -1, "d_k");
  expect("score", "euclid", "expected one of scaled-dot, dot, bilinear, additive, cosine");
  expect("d_v", 1 << 20, "d_v");
  expect("kv_heads", 4, "kv_heads is 4, which does not divide heads 6");
  expect("kv_heads", 12, "kv_heads is 12, which does not divide heads 6");
  expect("window", -1, "window");
  expect("attention_sink", 1, "attention_sink");
  expect("rotary_base", 0, "rotary_base");
  expect("d_model", -48, "d_model");
  expect("d_model", 1e300, "d_model");
  expect("d_model", "48", "d_model");
  expect("final_norm", 1, "final_norm");
  expect("tie", "everything", "expected one of none, decoder, all, found 'everything'");
  expect("tie", "all", "a decoder has no source embedding");
  expect("dropout_residual", 1.0, "dropout_residual");
  expect("residual", 3, "residual");
}

TEST(ModelConfig, ValidateChecksRangesAndHeads) {
  ModelConfig c;
  EXPECT_NO_THROW(c.validate());
  c.heads = 3;
  EXPECT_THAT([&] { c.validate(); },
              ThrowsMessage<InvalidArgument>(HasSubstr("d_model is 256, which 3 heads")));
  c.d_k = 7;
  EXPECT_THROW(c.validate(), InvalidArgument);  // d_v still wants a multiple
  c.d_v = 5;
  EXPECT_NO_THROW(c.validate());
  c.positions = Positions::kRotary;
  EXPECT_THAT([&] { c.validate(); },
              ThrowsMessage<InvalidArgument>(HasSubstr("d_k is 7; choose an even d_k")));
  c.d_k = 8;
  EXPECT_NO_THROW(c.validate());
  c.experts = 3;
  c.experts_top_k = 4;
  EXPECT_THAT([&] { c.validate(); },
              ThrowsMessage<InvalidArgument>("experts_top_k is 4, but there are 3 experts"));
  c.experts = 0;
  EXPECT_NO_THROW(c.validate());
  c.dropout_attention = 1;
  EXPECT_THAT([&] { c.validate(); },
              ThrowsMessage<InvalidArgument>(HasSubstr("dropout_attention is 1")));
}

}  // namespace
}  // namespace rapt

// How the parameters of a new model are drawn.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "rapt/models/tiny_model_test.h"

namespace rapt {
namespace {

using testing::tiny_config;

TEST(InitialWeights, FollowTheirOptions) {
  const auto value = [](const InitOptions& init, const char* name) {
    const Transformer model(tiny_config(), 11, 13, init);
    return model.parameters().find(name)->value;
  };
  const char* matrix = "encoder.layers.0.linear1.weight";
  const auto differ = [](const Tensor& a, const Tensor& b) {
    return !std::ranges::equal(a.span(), b.span());
  };
  EXPECT_TRUE(differ(value({.seed = 1}, matrix), value({.seed = 2}, matrix)));
  const InitOptions normal{.init_weights = InitWeights::kNormal, .init_std = 0.02f};
  const InitOptions wide{.init_weights = InitWeights::kNormal, .init_std = 0.5f};
  EXPECT_TRUE(differ(value({}, matrix), value(normal, matrix)));
  const Tensor narrow_values = value(normal, "source_embedding.weight");
  const Tensor wide_values = value(wide, "source_embedding.weight");
  for (size_t i = 0; i < narrow_values.size(); ++i) {
    EXPECT_NEAR(wide_values.host()[i], 25 * narrow_values.host()[i], 1e-6);
  }
  // nn.Transformer's: one Xavier bound for q, k and v together; zero biases.
  const double bound = std::sqrt(6.0 / (36 + 12));
  double largest = 0;
  for (const float v : value({}, "encoder.layers.0.self_attn.in_proj_weight").span()) {
    largest = std::max<double>(largest, std::abs(v));
  }
  EXPECT_LE(largest, bound);
  EXPECT_GT(largest, 0.98 * bound);
  for (const float v : value({}, "decoder.layers.1.linear2.bias").span()) EXPECT_EQ(v, 0.0f);
  for (const float v : value({}, "decoder.norm.weight").span()) EXPECT_EQ(v, 1.0f);
}

// Wang et al., 2022, figure 2: the gain is that of values, output and feed-forward network.
TEST(InitialWeights, OfDeepNormHaveItsGain) {
  const auto value = [](Residual residual, Architecture architecture, const std::string& name) {
    ModelConfig config = tiny_config();
    config.architecture = architecture;
    config.residual = residual;
    config.encoder_layers = 3;
    const Transformer model(config, config.has_encoder() ? 11 : 0, 13);
    return model.parameters().find(name)->value;
  };
  const auto expect = [&](Architecture architecture, const std::string& name, size_t first_row,
                          double gain) {
    const Tensor before = value(Residual::kPost, architecture, name);
    const Tensor after = value(Residual::kDeepNorm, architecture, name);
    for (size_t i = 0; i < before.size(); ++i) {
      const bool scaled = i / before.cols() >= first_row;
      EXPECT_NEAR(after.host()[i], (scaled ? gain : 1) * before.host()[i], 1e-6) << name;
    }
  };
  const auto expect_layer = [&](Architecture architecture, const std::string& layer, double gain) {
    expect(architecture, layer + ".self_attn.in_proj_weight", 2 * tiny_config().d_model, gain);
    expect(architecture, layer + ".self_attn.out_proj.weight", 0, gain);
    expect(architecture, layer + ".linear1.weight", 0, gain);
    expect(architecture, layer + ".linear2.weight", 0, gain);
  };
  const double encoder = 0.87 * std::pow(std::pow(3.0, 4) * 2, -1.0 / 16);
  expect_layer(Architecture::kEncoderDecoder, "encoder.layers.0", encoder);
  const double decoder = std::pow(12.0 * 2, -0.25);
  expect_layer(Architecture::kEncoderDecoder, "decoder.layers.1", decoder);
  expect(Architecture::kEncoderDecoder, "decoder.layers.1.multihead_attn.in_proj_weight",
         2 * tiny_config().d_model, decoder);
  expect(Architecture::kEncoderDecoder, "output.weight", 0, 1);
  expect_layer(Architecture::kDecoder, "decoder.layers.1", std::pow(8.0 * 2, -0.25));
}

}  // namespace
}  // namespace rapt

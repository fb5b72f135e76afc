// Whole models against PyTorch's nn.Transformer in float64: logits, loss, every gradient, and 20
// steps of AdamW. tests/goldens/make_transformer.py wrote the numbers.
//
// The scale of the tolerances is `float32_errors`, the errors of PyTorch in float32 against its own
// float64. Ours must be of that size; kSlack allows for another order of summation.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "rapt/io/json.h"
#include "rapt/io/safetensors.h"
#include "rapt/models/transformer.h"
#include "rapt/testing/expect.h"
#include "rapt/train/stepper.h"

namespace rapt {
namespace {

constexpr double kSlack = 4;
constexpr int64_t kMostIds = 1 << 16;
const fs::path kFolder = fs::path(RAPT_TOP) / "tests" / "goldens";

// |x - y| / |y|, Euclidean.
double relative(std::span<const float> x, std::span<const float> y) {
  EXPECT_EQ(x.size(), y.size());
  double difference = 0, size = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    const double d = static_cast<double>(x[i]) - y[i];
    difference += d * d;
    size += static_cast<double>(y[i]) * y[i];
  }
  return std::sqrt(difference / size);
}

class Golden {
 public:
  explicit Golden(const std::string& name)
      : all_(read_json(kFolder / "transformer.json")),
        json_(JsonObject(all_, "transformer.json").object(name)),
        tensors_(read_safetensors(kFolder / (name + ".safetensors"))) {}

  ModelConfig config() const {
    ModelConfig c;
    c.architecture = value_of<Architecture>(json_.string("architecture"), "architecture");
    c.d_model = size("d_model");
    c.heads = size("heads");
    c.kv_heads = size("kv_heads");
    c.window = size("window");
    c.attention_sink = json_.boolean("attention_sink");
    c.positions = value_of<Positions>(json_.string("positions"), "positions");
    c.position_layout =
        value_of<PositionLayout>(json_.string("position_layout"), "position_layout");
    c.rotary_base = static_cast<float>(number("rotary_base"));
    c.d_ff = size("d_ff");
    c.encoder_layers = size("encoder_layers");
    c.decoder_layers = size("decoder_layers");
    c.residual = value_of<Residual>(json_.string("residual"), "residual");
    c.norm_eps = static_cast<float>(number("norm_eps"));
    c.final_norm = json_.boolean("final_norm");
    c.activation = value_of<kernels::Activation>(json_.string("activation"), "activation");
    c.tie = value_of<Tie>(json_.string("tie"), "tie");
    c.output_bias = json_.boolean("output_bias");
    c.dropout_embedding = c.dropout_attention = c.dropout_activation = c.dropout_residual = 0;
    return c;
  }
  TrainOptions train_options() const {
    TrainOptions o;
    o.optimizer = OptimizerKind::kAdamW;
    o.beta1 = number("beta1");
    o.beta2 = number("beta2");
    o.eps = number("eps");
    o.weight_decay = number("weight_decay");
    o.decay = value_of<Decay>(json_.string("decay"), "decay");
    o.clip_norm = number("clip");
    o.label_smoothing = number("label_smoothing");
    return o;
  }
  Transformer model() const {
    const ModelConfig c = config();
    Transformer model(c, c.has_encoder() ? size("source_vocabulary") : 0,
                      size("target_vocabulary"));
    ParameterSet& parameters = model.parameters();
    size_t found = 0;
    for (const auto& [name, tensor] : tensors_) {
      if (!name.starts_with("parameter.")) continue;
      const Parameter* parameter = parameters.find(name.substr(std::string("parameter.").size()));
      if (parameter == nullptr) throw Error("the model has no " + name);
      EXPECT_EQ(parameter->value.shape(), tensor.shape()) << name;
      std::ranges::copy(tensor.host(), parameter->value.host().begin());
      ++found;
    }
    EXPECT_EQ(found, parameters.size());
    return model;
  }
  Update update() const {
    Shard shard;
    if (config().has_encoder()) {
      shard.source = lengths("source_lengths");
      shard.source_ids = ids("source");
    }
    shard.target = lengths("target_lengths");
    shard.target_in = ids("target_in");
    shard.target_out = ids("target_out");
    const uint64_t tokens = shard.target.rows();
    return {{std::move(shard)}, tokens};
  }

  double number(std::string_view key) const { return json_.number(key, 0, 1e9); }
  double tolerance(std::string_view key) const {
    return kSlack * json_.object("float32_errors").number(key, 0, 1e-3);
  }
  std::vector<double> numbers(std::string_view key) const {
    return json_.at(key).get<std::vector<double>>();
  }
  Tensor tensor(const std::string& name) const { return tensors_.at(name); }
  const TensorMap& tensors() const { return tensors_; }

 private:
  size_t size(std::string_view key) const {
    return static_cast<size_t>(json_.integer(key, 0, kMostIds));
  }
  std::vector<int32_t> ids(std::string_view key) const {
    const std::vector<int64_t> values = json_.integers(key, 0, kMostIds);
    return {values.begin(), values.end()};
  }
  Lengths lengths(std::string_view key) const {
    const std::vector<int32_t> sizes = ids(key);
    return Lengths::of(std::vector<uint32_t>(sizes.begin(), sizes.end()));
  }

  Json all_;
  JsonObject json_;
  TensorMap tensors_;
};

// log softmax(logits row)[id] in double.
double log_probability(std::span<const float> logits, int32_t id) {
  double sum = 0;
  for (const float z : logits) sum += std::exp(static_cast<double>(z));
  return logits[static_cast<size_t>(id)] - std::log(sum);
}

class TransformerGolden : public ::testing::TestWithParam<const char*> {};

TEST_P(TransformerGolden, LogProbabilitiesOfTheTarget) {
  const Golden golden(GetParam());
  const Transformer model = golden.model();
  const Shard shard = golden.update().shards[0];
  const Tensor logits = golden.tensor("logits");
  Context ctx(Mode::kInference, testing::test_pool());
  const Tensor p = model.token_log_probabilities(ctx, shard);
  ASSERT_EQ(p.size(), shard.target.rows());
  for (size_t row = 0; row < p.size(); ++row) {
    const double expected = log_probability(logits.matrix().row(row), shard.target_out[row]);
    EXPECT_NEAR(p.host()[row], expected, golden.tolerance("logits") * std::abs(expected) + 1e-6);
  }
}

TEST_P(TransformerGolden, LogitsOfDecodingStepByStep) {
  const Golden golden(GetParam());
  Transformer model = golden.model();
  model.pack();
  const Shard shard = golden.update().shards[0];
  Context ctx(Mode::kInference, testing::test_pool());
  for (size_t s = 0; s < shard.target.sequences(); ++s) {
    const Sequence target = shard.target[s];
    State state = model.make_state(1, target.size);
    const size_t source_rows = golden.config().has_encoder() ? shard.source[s].size : 0;
    const size_t source = source_rows == 0 ? 0 : shard.source.offset(s);
    model.open(ctx, state, Lengths({{target.id, static_cast<uint32_t>(source_rows), 0}}),
               std::span(shard.source_ids).subspan(source, source_rows));
    for (uint32_t i = 0; i < target.size; ++i) {
      const size_t row = shard.target.offset(s) + i;
      const Tensor logits = model.step(ctx, state, Lengths({{target.id, 1, i}}),
                                       std::span(shard.target_in).subspan(row, 1));
      EXPECT_LE(relative(logits.host(), golden.tensor("logits").matrix().row(row)),
                golden.tolerance("logits"))
          << "sentence " << s << ", position " << i;
    }
  }
}

TEST_P(TransformerGolden, LossAndAllGradients) {
  const Golden golden(GetParam());
  Transformer model = golden.model();
  const Update update = golden.update();
  const auto tokens = static_cast<float>(update.target_tokens);
  Context ctx(Mode::kTraining, testing::test_pool());
  const auto smoothing = static_cast<float>(golden.number("label_smoothing"));
  const Transformer::Loss loss = model.loss(ctx, update.shards[0], {.smoothing = smoothing});
  EXPECT_NEAR(loss.objective.value().host()[0] / tokens, golden.numbers("losses")[0],
              golden.tolerance("loss"));
  ctx.backward(loss.objective, 1 / tokens);
  for (size_t i = 0; i < model.parameters().size(); ++i) {
    const Parameter& parameter = model.parameters()[i];
    const Tensor gradient = ctx.gradient(parameter.value);
    ASSERT_FALSE(gradient.empty()) << parameter.name;
    EXPECT_LE(relative(gradient.host(), golden.tensor("gradient." + parameter.name).host()),
              golden.tolerance("gradients"))
        << parameter.name;
  }
}

TEST_P(TransformerGolden, TwentyStepsOfAdamW) {
  const Golden golden(GetParam());
  Transformer model = golden.model();
  const Update update = golden.update();
  const auto tokens = static_cast<double>(update.target_tokens);
  Stepper stepper(model, golden.train_options(), testing::test_pool());
  const std::vector<double> losses = golden.numbers("losses"), norms = golden.numbers("grad_norms");
  for (uint64_t step = 1; step <= norms.size(); ++step) {
    const StepResult result = stepper.run(update, step, step, golden.number("lr"));
    EXPECT_NEAR(result.objective / tokens, losses[step - 1], golden.tolerance("loss")) << step;
    // The norm is wrong by what the weights are, relatively.
    EXPECT_NEAR(result.grad_norm / norms[step - 1], 1, golden.tolerance("updates")) << step;
  }
  size_t compared = 0;
  for (const auto& [name, updated] : golden.tensors()) {
    if (!name.starts_with("updated.")) continue;
    const std::string plain = name.substr(std::string("updated.").size());
    const Tensor before = golden.tensor("parameter." + plain);
    const Tensor after = model.parameters().find(plain)->value;
    std::vector<float> moved(after.size()), expected(after.size());
    for (size_t i = 0; i < moved.size(); ++i) {
      moved[i] = after.host()[i] - before.host()[i];
      expected[i] = updated.host()[i] - before.host()[i];
    }
    EXPECT_LE(relative(moved, expected), golden.tolerance("updates")) << plain;
    ++compared;
  }
  EXPECT_GT(compared, 5u);
}

INSTANTIATE_TEST_SUITE_P(Cases, TransformerGolden,
                         ::testing::Values("post_relu", "pre_gelu", "post_gelu_tied",
                                           "pre_relu_tied_decoder", "decoder_only",
                                           "decoder_rotary_masks", "alibi_masks", "rotary_halves"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace rapt

// The encoder alone, without gradients, on 64 sentences of 5 to 60 tokens: what the encoder case of
// tools/peers/torch_decode.py does, by rapt.
#include <algorithm>

#include "apps/rapt/bench/bench.h"
#include "apps/rapt/bench/measure.h"
#include "rapt/base/random.h"
#include "rapt/nn/stack.h"

namespace rapt::app::bench {
namespace {

Lengths ragged_lengths() {
  std::vector<uint32_t> sizes;
  for (uint32_t i = 0; i < 64; ++i) sizes.push_back(5 + i * 37 % 56);
  return Lengths::of(sizes);
}

double operations(const ModelConfig& c, const Lengths& lengths) {
  const auto d = static_cast<double>(c.d_model), ff = static_cast<double>(c.d_ff);
  double flops = 2 * static_cast<double>(lengths.rows()) * (4 * d * d + 2 * d * ff);
  for (size_t s = 0; s < lengths.sequences(); ++s) {
    flops += 4 * static_cast<double>(lengths[s].size) * lengths[s].size * d;
  }
  return flops * static_cast<double>(c.encoder_layers);
}

}  // namespace

void run_encode(const Options& options) {
  const ModelConfig config = config_of_size(options.size);
  ParameterSet parameters(1);
  const nn::Encoder encoder(Scope(parameters), config.encoder_layers,
                            {.d_model = config.d_model, .heads = config.heads, .d_ff = config.d_ff},
                            false);
  Pool pool(options.threads);
  for (Weight* weight : parameters.weights()) weight->pack(Precision::kF32, pool);

  const Lengths lengths = ragged_lengths();
  const Tensor x = Tensor::zeros({lengths.rows(), config.d_model});
  fill_normal(x.host(), op_key(1, Stream::kSample, site_of("bench encode"), 0), 0, 1);
  const auto encode = [&](const Tensor& rows, const Lengths& sentences) {
    Context ctx(Mode::kInference, pool);
    return encoder(ctx, rows, sentences, ops::Band::none()).value();
  };
  const Tensor together = encode(x, lengths);
  const size_t begin = lengths.offset(3), end = lengths.offset(4);
  const Tensor alone = encode(x.slice_rows(begin, end), Lengths(std::vector<Sequence>{lengths[3]}));
  check_result(std::ranges::equal(alone.host(), together.slice_rows(begin, end).host()),
               "encode: a sentence alone and in a batch");

  Machine machine(pool);
  Case c{.name = "encoder_nested", .run = [&] { encode(x, lengths); }};
  c.shape = {{"size", options.size}, {"sentences", lengths.sequences()}};
  c.shape["tokens"] = lengths.rows();
  c.flops = operations(config, lengths);
  const Timing timing = interleave({c}, options.rounds_or(7))[0];
  machine.sample();
  c.more = {{"tokens_per_s", 1e3 * static_cast<double>(lengths.rows()) / timing.ms},
            {"rss_mb", rss_mb()}};
  emit(line_of(c, timing, options.threads, machine));
  machine.emit();
}

}  // namespace rapt::app::bench

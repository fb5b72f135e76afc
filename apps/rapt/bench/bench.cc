// rapt bench: chooses the group of measurements.
#include "apps/rapt/bench/bench.h"

#include <array>

#include "apps/rapt/command_line.h"
#include "apps/rapt/exit_codes.h"
#include "rapt/kernels/simd_target.h"

namespace rapt::app {
namespace {

struct Group {
  std::string_view name;
  void (*run)(const bench::Options&);
};

constexpr std::array kGroups = {
    Group{"gemm", bench::run_gemm},      Group{"attention", bench::run_attention},
    Group{"layers", bench::run_layers},  Group{"train", bench::run_train},
    Group{"decode", bench::run_decode},  Group{"encode", bench::run_encode},
    Group{"startup", bench::run_startup}};

}  // namespace

void bench::check_result(bool ok, const std::string& what) {
  check<Error>(ok, "bench: ", what, ": the result is wrong, so its time means nothing");
}

ModelConfig bench::config_of_size(const std::string& size) {
  struct Size {
    std::string_view name;
    size_t d_model, d_ff, heads, layers;
    float dropout;
  };
  constexpr std::array kSizes = {Size{"tiny", 128, 256, 4, 4, 0.3f},
                                 Size{"g2p", 256, 1024, 4, 3, 0.1f},
                                 Size{"base", 512, 2048, 8, 6, 0.1f}};
  ModelConfig c;
  for (const Size& s : kSizes) {
    if (s.name != size) continue;
    c.d_model = s.d_model;
    c.d_ff = s.d_ff;
    c.heads = s.heads;
    c.encoder_layers = c.decoder_layers = s.layers;
    c.dropout_embedding = c.dropout_attention = s.dropout;
    c.dropout_activation = c.dropout_residual = s.dropout;
  }
  c.tie = Tie::kAll;
  return c;
}

int bench_main(const Arguments& arguments) {
  CommandLine app("bench",
                  "Measures the machine and rapt on it: one JSON object a line, `peer` machine or "
                  "rapt. Each group checks its results before it times them.",
                  "rapt bench train --size base --threads 2 --profile\n  "
                  "rapt bench attention --simd avx2");
  bench::Options o;
  std::string group, simd;
  std::vector<std::string> names;
  for (const Group& g : kGroups) names.emplace_back(g.name);
  app.add_option("group", group, "what to measure")->required()->check(CLI::IsMember(names));
  app.add_option("--size", o.size, "model of train, decode, encode")
      ->check(CLI::IsMember({"tiny", "g2p", "base"}))
      ->capture_default_str();
  app.add_option("--rounds", o.rounds, "how often everything is timed; 0: as the group needs")
      ->check(in_range({0, 1e6}))
      ->capture_default_str();
  app.add_option(
      "--simd", simd, "hold the kernels to these instructions: " + [] {
        std::string all;
        for (const std::string& name : kernels::simd_targets())
          all += (all.empty() ? "" : ", ") + name;
        return all;
      }());
  app.add_option("--data", o.data,
                 "train: folder with train.en and train.de, or a TSV of words and phonemes; "
                 "without it ids are drawn");
  app.add_option("--target-tokens", o.target_tokens, "train: target tokens of a batch")
      ->check(in_range({1, 1e6}))
      ->capture_default_str();
  app.add_option("--steps", o.steps, "train: batches of one round")
      ->check(in_range({1, 1e6}))
      ->capture_default_str();
  app.add_flag("--profile", o.profile, "train, decode: where the time goes");
  app.add_flag("--small", o.small, "gemm, layers: small shapes, to test the benchmark itself");
  app.add_option("--tokens", o.tokens, "attention: tokens of a batch")
      ->check(in_range({32, 1e7}))
      ->capture_default_str();
  app.add_option("--longest", o.longest, "attention: longest sentence")
      ->check(in_range({32, 1e6}))
      ->capture_default_str();
  app.add_option("--vocabulary", o.vocabulary, "decode: symbols")
      ->check(in_range({16, 1 << 20}))
      ->capture_default_str();
  app.add_option("--beam", o.beams, "decode: beams, 1 and 4 unless given");
  app.add_option("--batch", o.batches, "decode: sentences at once, 1 and 64 unless given");
  app.add_threads(o.threads);
  if (!app.parse_arguments(arguments)) return kDone;
  if (o.beams.empty()) o.beams = {1, 4};
  if (o.batches.empty()) o.batches = {1, 64};
  if (!simd.empty()) kernels::use_simd_target(simd);
  for (const Group& g : kGroups) {
    if (g.name == group) g.run(o);
  }
  return kDone;
}

}  // namespace rapt::app

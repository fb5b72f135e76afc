// rapt bench: what the machine can do, and how fast rapt does the work of a Transformer on it. Each
// group prints one JSON object a line, with the fields of the programs in tools/peers, which do the
// same work by other software:
//   peer, case, threads, dtype, mode, shape (an object)
//   ms (best run), ms_median, cpu_ms (with one thread: of the processor), runs, gflops (useful operations over ms), peak_percent (of the
//   multiply-add peak of the same run), tokens_per_s, rss_mb, peak_rss_mb, …
// A group checks its results before it times them.
#pragma once
#include <string>
#include <vector>

#include "rapt/models/config.h"

namespace rapt::app::bench {

struct Options {
  size_t threads = 1, rounds = 0;  // rounds 0: what the group thinks right
  std::string size = "tiny", data;
  size_t target_tokens = 4096, steps = 4;
  size_t tokens = 4096, longest = 2048;  // attention: B * T, T
  size_t vocabulary = 9712;
  std::vector<size_t> beams, batches;
  bool profile = false;
  bool small = false;  // sizes that say nothing of speed: to test the benchmark itself

  size_t rounds_or(size_t usual) const { return rounds == 0 ? usual : rounds; }
};

void run_gemm(const Options& options);
void run_attention(const Options& options);
void run_layers(const Options& options);
void run_train(const Options& options);
void run_decode(const Options& options);
void run_encode(const Options& options);
void run_startup(const Options& options);

// A wrong result: what would be measured is not the work.
void check_result(bool ok, const std::string& what);

// "tiny", "g2p", "base": models of the paper's kind in three sizes, post-norm, one table tied.
ModelConfig config_of_size(const std::string& size);

}  // namespace rapt::app::bench

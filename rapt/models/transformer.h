// The Transformer (Vaswani et al., 2017): encoder–decoder, or the decoder alone. Weights are shared
// by all contexts that read them; training changes them between steps only.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "rapt/autograd/context.h"
#include "rapt/models/config.h"
#include "rapt/models/state.h"
#include "rapt/nn/scope.h"
#include "rapt/ops/linear_cross_entropy.h"
#include "rapt/text/batches.h"

namespace rapt {

class Transformer {
 public:
  // New weights. Vocabulary sizes: source 0 when decoder-only. Throws InvalidArgument.
  Transformer(const ModelConfig& config, size_t source_vocabulary, size_t target_vocabulary,
              const InitOptions& init = {});
  // Names and shapes of parameters without values or memory: what load_weights() then fills.
  static Transformer without_values(const ModelConfig& config, size_t source_vocabulary,
                                    size_t target_vocabulary);
  ~Transformer();
  Transformer(Transformer&&) noexcept;
  Transformer& operator=(Transformer&&) noexcept;

  const ModelConfig& config() const;
  size_t source_vocabulary() const;
  size_t target_vocabulary() const;
  // Each once, tied ones under their first name; in file order. `out << parameters()` shows the tree
  // of modules (nn/module.h).
  ParameterSet& parameters();
  const ParameterSet& parameters() const;
  void pack(Precision precision = Precision::kF32);  // for inference, for good

  struct Loss {
    Var objective;  // scalar: sum over the shard's target tokens, with label smoothing and balance
    Tensor nll;     // scalar: the same without smoothing, no gradient
  };
  // `balance` weighs the experts' balance, layer by layer, against a target token's loss.
  Loss loss(Context& ctx, const Shard& shard, const ops::LossOptions& options,
            float balance = 0) const;
  // The decoder's output [target rows, d_model] before the output projection, teacher-forced: for
  // insight and explain, with ctx.watch() on every attention.
  Var decoder_output(Context& ctx, const Shard& shard) const;
  // Log-probabilities of target_out, one a target row, natural, with the bits that decoding meets.
  Tensor token_log_probabilities(Context& ctx, const Shard& shard) const;

  // ---- Inference: greedy, beam, sampling, scoring and a server use these alone.
  // Space for the keys and values of at most `sequences` hypotheses at once, of `max_rows` each.
  State make_state(size_t sequences, size_t max_rows) const;
  // New hypotheses, one a sentence, at the end of the state's list. Encodes the sources and computes
  // the keys and values of cross attention, once a sentence. Decoder-only: `source` gives ids and
  // no rows.
  void open(Context& ctx, State& state, const Lengths& source, std::span<const int32_t> ids) const;
  // Feeds each live hypothesis its next rows: lengths[i] is hypothesis i with size >= 1 rows (a
  // prompt, a forced prefix, or 1), lengths[i].past rows in the cache. Returns logits
  // [hypotheses, target vocabulary] of each one's last row. The same bits for any batch, and as
  // without a cache.
  Tensor step(Context& ctx, State& state, const Lengths& lengths,
              std::span<const int32_t> ids) const;

 private:
  class Impl;
  explicit Transformer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rapt

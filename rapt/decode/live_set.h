// The hypotheses that are still growing, beside the model's state: hypothesis i of the state is
// live(i). Steps the model and lets finished sentences leave.
//
// A decoder-only model goes on beyond its positions by a window: of T tokens it reads the last ones
// from a start that moves by half a window at a time, a function of T alone.
#pragma once
#include <span>
#include <vector>

#include "rapt/decode/search.h"
#include "rapt/ops/log_softmax.h"

namespace rapt {

struct Live {
  size_t sentence = 0;
  std::vector<int32_t> ids;  // after the prefix
  double log_probability = 0;
};

// The first of `tokens` tokens that a window of `positions` holds.
size_t window_start(size_t tokens, size_t positions);

class LiveSet {
 public:
  // One hypothesis a sentence; `width` is the most that a sentence will have at once.
  LiveSet(Context& ctx, const Transformer& model, const VocabularyFilter& filter,
          std::span<const Sentence> sentences, std::span<const size_t> limits, size_t width);

  bool empty() const { return live_.empty(); }
  size_t size() const { return live_.size(); }
  const Live& operator[](size_t i) const { return live_[i]; }

  // Log-probabilities [size(), vocabulary] of what comes next.
  ops::LogProbabilities step();
  // What goes on: child i continues live(parents[i]), with one more id.
  void advance(std::span<const uint32_t> parents, std::vector<Live> children);

 private:
  size_t tokens(const Live& live) const;  // so far, the start symbol included
  int32_t token(const Live& live, size_t i) const;
  bool must_restart() const;
  void restart();

  Context& ctx_;
  const Transformer& model_;
  std::span<const Sentence> sentences_;
  size_t positions_;
  int32_t start_;
  State state_;
  std::vector<Live> live_;
  bool fresh_ = true;  // the state holds no rows yet
};

}  // namespace rapt

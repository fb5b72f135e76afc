// How output is searched for.
#pragma once
#include "rapt/base/options.h"

namespace rapt {

struct DecodeOptions {
  size_t beam = 1;
  size_t nbest = 1;             // hypotheses a line; at most `beam`, or samples when sampling
  float length_penalty = 1.0f;  // score = log-probability / length^penalty
  size_t min_length = 0;
  size_t max_length = 0;  // tokens, </s> among them; 0: 2 * source + 50
  bool allow_unk = false;
  bool sample = false;
  float temperature = 1.0f;
  size_t top_k = 0;    // 0: all
  float top_p = 1.0f;  // 1: all
  float min_p = 0.0f;  // 0: all
  uint64_t seed = 1;
  size_t batch_tokens = 4096;  // source tokens decoded at once by a thread; changes no result

  void validate() const;  // throws InvalidArgument

  template <class Self, class Visitor>
  static void fields(Self& o, Visitor&& visit) {
    visit("beam", o.beam, Range{1, 1024}, "hypotheses kept at each step; 1 is greedy search");
    visit("nbest", o.nbest, Range{1, 1024}, "outputs for each line, best first");
    visit("length_penalty", o.length_penalty, Range{-10, 10},
          "score = log-probability / length^this; 0 prefers short output");
    visit("min_length", o.min_length, Range{0, 1 << 24}, "fewest tokens of an output");
    visit("max_length", o.max_length, Range{0, 1 << 24},
          "most tokens of an output, its end among them; 0 means 2 * source + 50");
    visit("allow_unk", o.allow_unk, "let the output hold <unk>");
    visit("sample", o.sample, "draw the output instead of searching for the best");
    visit("temperature", o.temperature, Range{1e-4, 1e4}, "of sampling: below 1 is more careful");
    visit("top_k", o.top_k, Range{0, 1 << 20}, "sample among the k likeliest tokens; 0 means all");
    visit("top_p", o.top_p, Range{0, 1}, "sample among the likeliest tokens that hold this mass");
    visit("min_p", o.min_p, Range{0, 1},
          "sample among tokens at least this likely, as a share of the likeliest");
    visit("seed", o.seed, Range{0, 9007199254740992.0}, "of sampling");
    visit("batch_tokens", o.batch_tokens, Range{1, 1 << 24},
          "source tokens decoded at once by a thread; changes the speed, never a result");
  }
};

}  // namespace rapt

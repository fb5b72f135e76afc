// What a search is given and what it finds.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace rapt {

// One line to decode.
struct Sentence {
  std::vector<int32_t> source;  // with </s>; empty when decoder-only
  std::vector<int32_t> prefix;  // what the output must start with; decoder-only: the prompt
  uint64_t sample = 0;          // which sample of equal lines this is
};

struct Hypothesis {
  std::vector<int32_t> ids;    // after the prefix, without </s>
  double log_probability = 0;  // natural, summed over `ids` and, if complete, </s>
  double score = 0;            // log_probability / length^penalty, length with </s>
  bool complete = false;       // false: cut at the maximum length
};

// Hash of ids, below 2^48: names a sentence to the sampler, whatever batch it is in.
uint64_t hash_of(std::span<const int32_t> ids);
uint64_t id_of(const Sentence& sentence);  // of source and prefix

// log_probability / length^penalty; a length of 0 counts as 1.
double length_normalized(double log_probability, size_t length, double penalty);

}  // namespace rapt

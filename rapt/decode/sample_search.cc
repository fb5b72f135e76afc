#include <algorithm>
#include <numeric>

#include "rapt/base/scalar_math.h"
#include "rapt/decode/live_set.h"

namespace rapt {
namespace {

// A uniform number in (0, 1) for one position of one sample of one sentence.
double uniform_draw(uint64_t key, uint64_t sentence, uint64_t sample, size_t position) {
  const PhiloxBlock b =
      philox({static_cast<uint32_t>(sentence), static_cast<uint32_t>(sentence >> 32),
              static_cast<uint32_t>(sample), static_cast<uint32_t>(position)},
             key);
  const uint64_t bits = (uint64_t{b[1]} << 32 | b[0]) >> 11;
  return (static_cast<double>(bits) + 0.5) * 0x1p-53;
}

class Sampler {
 public:
  Sampler(const VocabularyFilter& filter, const DecodeOptions& options)
      : filter_(filter), options_(options) {}

  // The id at `u` of the distribution left by temperature, top-k, top-p and min-p, in this order.
  int32_t pick(const ops::LogProbabilities::Row& log_p, bool may_end, double u) {
    candidates_.clear();
    for (size_t v = 0; v < log_p.size(); ++v) {
      const auto id = static_cast<int32_t>(v);
      if (filter_.allows(id) && (may_end || id != filter_.eos())) candidates_.push_back(id);
    }
    const auto likelier = [&](int32_t a, int32_t b) {
      const float pa = log_p[static_cast<size_t>(a)], pb = log_p[static_cast<size_t>(b)];
      return pa != pb ? pa > pb : a < b;
    };
    if (options_.top_k != 0 && candidates_.size() > options_.top_k) {
      const auto last = candidates_.begin() + static_cast<ptrdiff_t>(options_.top_k);
      std::nth_element(candidates_.begin(), last, candidates_.end(), likelier);
      candidates_.erase(last, candidates_.end());
    }
    std::sort(candidates_.begin(), candidates_.end(), likelier);
    const double top = log_p[static_cast<size_t>(candidates_.front())];
    weights_.clear();
    for (const int32_t id : candidates_) {
      weights_.push_back(
          scalar::exp((log_p[static_cast<size_t>(id)] - top) / options_.temperature));
    }
    keep_mass();
    keep_share();
    const double target = u * std::accumulate(weights_.begin(), weights_.end(), 0.0);
    double sum = 0;
    for (size_t i = 0; i + 1 < weights_.size(); ++i) {
      sum += weights_[i];
      if (sum > target) return candidates_[i];
    }
    return candidates_[weights_.size() - 1];
  }

 private:
  // top-p: the fewest of the likeliest that hold the mass together.
  void keep_mass() {
    const double mass = options_.top_p * std::accumulate(weights_.begin(), weights_.end(), 0.0);
    double sum = 0;
    for (size_t i = 0; i < weights_.size() && options_.top_p < 1; ++i) {
      sum += weights_[i];
      if (sum >= mass) return weights_.resize(i + 1);
    }
  }
  // min-p: those at least this share of the likeliest, whose weight is 1.
  void keep_share() {
    while (weights_.size() > 1 && weights_.back() < options_.min_p) weights_.pop_back();
  }

  const VocabularyFilter& filter_;
  const DecodeOptions& options_;
  std::vector<int32_t> candidates_;
  std::vector<double> weights_;
};

}  // namespace

std::vector<std::vector<Hypothesis>> sample_search(Context& ctx, const Transformer& model,
                                                   const VocabularyFilter& filter,
                                                   std::span<const Sentence> sentences,
                                                   const DecodeOptions& options) {
  // Each sample is a sentence of its own; equal lines took numbers `nbest` apart.
  std::vector<Sentence> copies;
  std::vector<size_t> limits;
  for (const Sentence& s : sentences) {
    for (size_t n = 0; n < options.nbest; ++n) {
      copies.push_back(s);
      copies.back().sample = s.sample * options.nbest + n;
      limits.push_back(length_limit(model, options, s));
    }
  }
  std::vector<std::vector<Hypothesis>> results(sentences.size());
  for (auto& result : results) result.resize(options.nbest);

  const uint64_t key = op_key(options.seed, Stream::kSample, 0, 0);
  Sampler sampler(filter, options);
  LiveSet live(ctx, model, filter, copies, limits, 1);
  while (!live.empty()) {
    const ops::LogProbabilities log_p = live.step();
    std::vector<uint32_t> parents;
    std::vector<Live> children;
    for (size_t i = 0; i < live.size(); ++i) {
      const size_t copy = live[i].sentence, length = live[i].ids.size();
      Hypothesis& result = results[copy / options.nbest][copy % options.nbest];
      const ops::LogProbabilities::Row row = log_p.row(i);
      const double u = uniform_draw(key, id_of(copies[copy]), copies[copy].sample, length);
      const int32_t id = sampler.pick(row, length >= options.min_length, u);
      const double log_probability = live[i].log_probability + row[static_cast<size_t>(id)];
      const bool ends = id == filter.eos();
      std::vector<int32_t> ids = live[i].ids;
      if (!ends) ids.push_back(id);
      if (ends || length + 1 >= limits[copy]) {
        result = {std::move(ids), log_probability, 0, ends};
        result.score = length_normalized(log_probability, length + 1, options.length_penalty);
      } else {
        parents.push_back(static_cast<uint32_t>(i));
        children.push_back({copy, std::move(ids), log_probability});
      }
    }
    live.advance(parents, std::move(children));
  }
  return results;
}

}  // namespace rapt

#include <algorithm>
#include <limits>

#include "rapt/decode/live_set.h"

namespace rapt {
namespace {

struct Candidate {
  double log_probability;
  uint32_t parent;
  int32_t id;
};

// The best `capacity` candidates, best first; of equal ones those that came first.
class TopCandidates {
 public:
  explicit TopCandidates(size_t capacity) : capacity_(capacity) { best_.reserve(capacity + 1); }

  // A candidate must be above this to get in.
  double floor() const {
    return best_.size() < capacity_ ? -std::numeric_limits<double>::infinity()
                                    : best_.back().log_probability;
  }
  void add(const Candidate& c) {
    const auto lower = [](const Candidate& a, const Candidate& b) {
      return a.log_probability > b.log_probability;
    };
    best_.insert(std::upper_bound(best_.begin(), best_.end(), c, lower), c);
    if (best_.size() > capacity_) best_.pop_back();
  }
  const std::vector<Candidate>& best() const { return best_; }

 private:
  size_t capacity_;
  std::vector<Candidate> best_;
};

class BeamSearch {
 public:
  BeamSearch(Context& ctx, const Transformer& model, const VocabularyFilter& filter,
             std::span<const Sentence> sentences, const DecodeOptions& options)
      : ctx_(ctx), model_(model), filter_(filter), options_(options), sentences_(sentences) {
    for (const Sentence& s : sentences) limits_.push_back(length_limit(model, options, s));
    finished_.resize(sentences.size());
  }

  std::vector<std::vector<Hypothesis>> run() {
    LiveSet live(ctx_, model_, filter_, sentences_, limits_, options_.beam);
    while (!live.empty()) {
      const ops::LogProbabilities log_p = live.step();
      std::vector<uint32_t> parents;
      std::vector<Live> children;
      for (size_t begin = 0, end; begin < live.size(); begin = end) {
        end = begin;
        while (end < live.size() && live[end].sentence == live[begin].sentence) ++end;
        extend(live, begin, end, log_p, parents, children);
      }
      live.advance(parents, std::move(children));
    }
    return std::move(finished_);
  }

 private:
  // One step of one sentence, hypotheses [begin, end).
  void extend(const LiveSet& live, size_t begin, size_t end, const ops::LogProbabilities& log_p,
              std::vector<uint32_t>& parents, std::vector<Live>& children) {
    const size_t sentence = live[begin].sentence, length = live[begin].ids.size();
    const bool last = length + 1 >= limits_[sentence];
    // Twice the beam: at most half of them end, so that the beam can be filled again.
    TopCandidates top(2 * options_.beam);
    for (size_t row = begin; row < end; ++row) {
      collect(log_p.row(row), live[row].log_probability, static_cast<uint32_t>(row), length, top);
    }
    const size_t first_child = children.size();
    size_t rank = 0;
    for (const Candidate& c : top.best()) {
      const bool in_beam = rank++ < options_.beam;
      if (c.id == filter_.eos()) {
        if (in_beam) finish(live[c.parent], c.log_probability, true);
      } else if (children.size() - first_child < options_.beam) {
        parents.push_back(c.parent);
        children.push_back({sentence, live[c.parent].ids, c.log_probability});
        children.back().ids.push_back(c.id);
      }
    }
    for (size_t i = first_child; last && i < children.size(); ++i) {
      if (finished_[sentence].size() >= options_.nbest) break;
      finish(children[i], children[i].log_probability, false);
    }
    if (last || done(sentence, children, first_child)) {
      children.resize(first_child);
      parents.resize(first_child);
    }
  }

  // Most blocks of symbols hold no candidate.
  void collect(const ops::LogProbabilities::Row& row, double base, uint32_t parent, size_t length,
               TopCandidates& top) const {
    const bool may_end = length >= options_.min_length;
    double floor = top.floor();
    for (size_t block = 0; block < row.blocks(); ++block) {
      if (!(base + row.maximum(block) > floor)) continue;
      const size_t first = block * ops::LogProbabilities::kBlock;
      const size_t last = std::min(first + ops::LogProbabilities::kBlock, row.size());
      for (size_t v = first; v < last; ++v) {
        const double log_probability = base + row[v];
        if (!(log_probability > floor)) continue;
        const auto id = static_cast<int32_t>(v);
        if (!filter_.allows(id) || (id == filter_.eos() && !may_end)) continue;
        top.add({log_probability, parent, id});
        floor = top.floor();
      }
    }
  }

  void finish(const Live& h, double log_probability, bool complete) {
    const size_t length = h.ids.size() + (complete ? 1 : 0);
    Hypothesis hypothesis{h.ids, log_probability,
                          length_normalized(log_probability, length, options_.length_penalty),
                          complete};
    std::vector<Hypothesis>& kept = finished_[h.sentence];
    // Complete ones first, then by falling score; of equal scores the one that came first.
    const auto better = [](const Hypothesis& a, const Hypothesis& b) {
      return a.complete != b.complete ? a.complete : a.score > b.score;
    };
    kept.insert(std::upper_bound(kept.begin(), kept.end(), hypothesis, better),
                std::move(hypothesis));
    if (kept.size() > options_.nbest) kept.pop_back();
  }

  // Enough are finished, and the best that a live one can reach is no better than the worst kept.
  // Log-probabilities only fall, so the best score of a descendant is at one end of its lengths.
  bool done(size_t sentence, std::span<const Live> children, size_t first_child) const {
    if (children.size() == first_child) return true;
    const std::vector<Hypothesis>& kept = finished_[sentence];
    if (kept.size() < options_.nbest) return false;
    const Live& best = children[first_child];
    const double alpha = options_.length_penalty;
    const double bound =
        std::max(length_normalized(best.log_probability, best.ids.size() + 1, alpha),
                 length_normalized(best.log_probability, limits_[sentence], alpha));
    return bound <= kept.back().score;
  }

  Context& ctx_;
  const Transformer& model_;
  const VocabularyFilter& filter_;
  const DecodeOptions& options_;
  std::span<const Sentence> sentences_;
  std::vector<size_t> limits_;
  std::vector<std::vector<Hypothesis>> finished_;
};

}  // namespace

std::vector<std::vector<Hypothesis>> beam_search(Context& ctx, const Transformer& model,
                                                 const VocabularyFilter& filter,
                                                 std::span<const Sentence> sentences,
                                                 const DecodeOptions& options) {
  return BeamSearch(ctx, model, filter, sentences, options).run();
}

}  // namespace rapt

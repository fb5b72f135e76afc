#include "rapt/decode/live_set.h"

#include <algorithm>

namespace rapt {
namespace {

std::vector<Live> one_each(size_t sentences) {
  std::vector<Live> live(sentences);
  for (size_t i = 0; i < sentences; ++i) live[i].sentence = i;
  return live;
}

size_t most_rows(std::span<const Sentence> sentences, std::span<const size_t> limits,
                 size_t positions) {
  size_t most = 0;
  for (size_t i = 0; i < sentences.size(); ++i) {
    most = std::max(most, std::min(positions, sentences[i].prefix.size() + limits[i]));
  }
  return most;
}

}  // namespace

size_t window_start(size_t tokens, size_t positions) {
  if (tokens <= positions) return 0;
  const size_t hop = std::max<size_t>(1, positions / 2);
  return (tokens - positions + hop - 1) / hop * hop;
}

LiveSet::LiveSet(Context& ctx, const Transformer& model, const VocabularyFilter& filter,
                 std::span<const Sentence> sentences, std::span<const size_t> limits, size_t width)
    : ctx_(ctx),
      model_(model),
      sentences_(sentences),
      positions_(model.config().max_positions),
      start_(filter.decoder_start()),
      state_(model.make_state(sentences.size() * width, most_rows(sentences, limits, positions_))),
      live_(one_each(sentences.size())) {
  restart();
}

size_t LiveSet::tokens(const Live& live) const {
  return 1 + sentences_[live.sentence].prefix.size() + live.ids.size();
}

int32_t LiveSet::token(const Live& live, size_t i) const {
  const std::vector<int32_t>& prefix = sentences_[live.sentence].prefix;
  if (i == 0) return start_;
  return i <= prefix.size() ? prefix[i - 1] : live.ids[i - 1 - prefix.size()];
}

// The newest token of some hypothesis moves its window.
bool LiveSet::must_restart() const {
  return std::ranges::any_of(live_, [&](const Live& live) {
    const size_t n = tokens(live);
    return window_start(n, positions_) != window_start(n - 1, positions_);
  });
}

void LiveSet::restart() {
  state_.clear();
  std::vector<Sequence> sources;
  std::vector<int32_t> ids;
  for (const Live& live : live_) {
    const Sentence& sentence = sentences_[live.sentence];
    sources.push_back({id_of(sentence), static_cast<uint32_t>(sentence.source.size()), 0});
    ids.insert(ids.end(), sentence.source.begin(), sentence.source.end());
  }
  model_.open(ctx_, state_, Lengths(std::move(sources)), ids);
  fresh_ = true;
}

ops::LogProbabilities LiveSet::step() {
  if (!fresh_ && must_restart()) restart();
  std::vector<Sequence> rows;
  std::vector<int32_t> ids;
  for (size_t i = 0; i < live_.size(); ++i) {
    const size_t n = tokens(live_[i]), start = window_start(n, positions_);
    const size_t first = fresh_ ? start : n - 1;
    rows.push_back(
        {state_.id(i), static_cast<uint32_t>(n - first), static_cast<uint32_t>(first - start)});
    for (size_t t = first; t < n; ++t) ids.push_back(token(live_[i], t));
  }
  fresh_ = false;
  return {ctx_, model_.step(ctx_, state_, Lengths(std::move(rows)), ids)};
}

void LiveSet::advance(std::span<const uint32_t> parents, std::vector<Live> children) {
  state_.reorder(parents);
  live_ = std::move(children);
}

}  // namespace rapt

#include "rapt/decode/decoder.h"

#include <algorithm>
#include <numeric>

namespace rapt {
namespace {

constexpr size_t kKept = size_t{16} << 20;  // bytes that wait for the next call

size_t rows_of(const Sentence& s) { return s.source.size() + s.prefix.size() + 1; }

// Runs of `order`, each of about batch_tokens rows and at least one sentence; enough of them for
// every thread when the sentences allow it.
std::vector<std::pair<size_t, size_t>> cut(std::span<const Sentence> sentences,
                                           std::span<const size_t> order, size_t batch_tokens,
                                           size_t threads) {
  size_t total = 0;
  for (const Sentence& s : sentences) total += rows_of(s);
  const size_t budget = std::min(batch_tokens, (total + threads - 1) / threads);
  std::vector<std::pair<size_t, size_t>> batches;
  for (size_t begin = 0, end; begin < order.size(); begin = end) {
    end = begin;
    for (size_t rows = 0; end < order.size(); ++end) {
      rows += rows_of(sentences[order[end]]);
      if (rows > budget && end > begin) break;
    }
    batches.emplace_back(begin, end);
  }
  return batches;
}

}  // namespace

Decoder::Decoder(const Model& model, const DecodeOptions& options, Pool& pool)
    : model_(model), options_(options), pool_(pool), filter_(model.text.target(), options) {
  options_.validate();
}

Sentence Decoder::sentence(std::vector<int32_t> source, std::vector<int32_t> prefix) {
  Sentence s{std::move(source), std::move(prefix), 0};
  if (options_.sample) s.sample = seen_[id_of(s)]++;
  return s;
}

std::vector<std::vector<Hypothesis>> Decoder::decode(std::span<const Sentence> sentences) const {
  std::vector<size_t> order(sentences.size());
  std::iota(order.begin(), order.end(), size_t{0});
  // Longest first: the last batches to end are short.
  std::ranges::stable_sort(order, std::greater(), [&](size_t i) { return rows_of(sentences[i]); });

  std::vector<std::vector<Hypothesis>> results(sentences.size());
  const auto batches = cut(sentences, order, options_.batch_tokens, pool_.threads());
  const auto run = [&](size_t b) {
    const auto [begin, end] = batches[b];
    std::vector<Sentence> batch;
    for (size_t i = begin; i < end; ++i) batch.push_back(sentences[order[i]]);
    Context ctx(Mode::kInference, pool_);
    auto found = search(ctx, model_.transformer, filter_, batch, options_);
    for (size_t i = begin; i < end; ++i) results[order[i]] = std::move(found[i - begin]);
  };
  if (batches.size() == 1) {
    run(0);  // the operations share the threads
  } else {
    pool_.run(batches.size(), run);
  }
  MemoryPool::process().trim(kKept);  // the next call may be of another size, or far away
  return results;
}

}  // namespace rapt

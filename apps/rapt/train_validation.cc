#include "apps/rapt/train_validation.h"

#include <algorithm>

#include "rapt/decode/decoder.h"
#include "rapt/metrics/metric.h"

namespace rapt::app {
namespace {

constexpr size_t kShown = 3;
constexpr uint64_t kLinesAtOnce = 1024;  // between two looks at `stop`

// Three items at a quarter, a half and three quarters; fewer when there are fewer.
std::vector<uint64_t> shown_items(uint64_t size) {
  std::vector<uint64_t> items;
  for (uint64_t i = 1; i <= kShown; ++i) items.push_back(size * i / (kShown + 1));
  items.erase(std::unique(items.begin(), items.end()), items.end());
  return items;
}

// Outputs of the given pairs; nothing when stopped. What is empty or too long gives an empty line.
std::optional<metrics::Lines> decode(const Model& model, const ParallelCorpus& pairs,
                                     std::span<const uint64_t> items, const std::atomic<bool>& stop,
                                     Pool& pool) {
  const TextSide &source = model.text.source(), &target = model.text.target();
  Decoder decoder(model, {}, pool);
  metrics::Lines outputs(items.size());
  for (size_t begin = 0; begin < items.size(); begin += kLinesAtOnce) {
    if (stop.load()) return std::nullopt;
    const size_t end = std::min<size_t>(items.size(), begin + kLinesAtOnce);
    std::vector<Sentence> sentences;
    std::vector<size_t> places;
    for (size_t i = begin; i < end; ++i) {
      if (pairs.too_long(items[i])) continue;
      std::vector<int32_t> ids = source.encode(pairs.pair(items[i]).source, items[i] + 1);
      if (ids.empty() || ids.size() >= model.transformer.config().max_positions) continue;
      ids.push_back(source.ids().eos);
      sentences.push_back(decoder.sentence(std::move(ids), {}));
      places.push_back(i);
    }
    const std::vector<std::vector<Hypothesis>> found = decoder.decode(sentences);
    for (size_t i = 0; i < found.size(); ++i) {
      if (!found[i].empty()) outputs[places[i]] = target.decode(found[i].front().ids);
    }
  }
  return outputs;
}

}  // namespace

DecodeFunction decode_pairs(const Model& model, const ParallelCorpus& pairs, std::string metric,
                            const std::atomic<bool>& stop, Pool& pool) {
  const metrics::Metric* found = metric.empty() ? nullptr : &metrics::find_metric(metric);
  const bool all = found != nullptr && found->needs_decoding();
  return [&model, &stop, &pool, pairs, found,
          all](const Transformer&) -> std::optional<DecodedMetrics> {
    const std::vector<uint64_t> shown = shown_items(pairs.size());
    std::vector<uint64_t> items = shown;
    if (all) {
      items.resize(pairs.size());
      for (uint64_t i = 0; i < items.size(); ++i) items[i] = i;
    }
    const std::optional<metrics::Lines> outputs = decode(model, pairs, items, stop, pool);
    if (!outputs) return std::nullopt;
    const auto reference = [&](uint64_t item) {
      return model.text.target().reference(pairs.pair(item).target);
    };
    DecodedMetrics result;
    if (all) {
      metrics::References references;
      for (const uint64_t item : items) references.push_back({reference(item)});
      result.values.emplace_back(found->name, found->compute(*outputs, references));
    }
    for (size_t i = 0; i < shown.size(); ++i) {
      result.samples.push_back(
          {pairs.pair(shown[i]).source, (*outputs)[all ? shown[i] : i], reference(shown[i])});
    }
    return result;
  };
}

DecodeFunction continue_lines(const Model& model, const TextStream& text, size_t context,
                              Pool& pool) {
  return [&model, &pool, text, context](const Transformer&) -> std::optional<DecodedMetrics> {
    const TextSide& side = model.text.target();
    DecodeOptions options;
    options.sample = true;
    options.temperature = 0.8f;
    options.max_length = context;
    Decoder decoder(model, options, pool);
    DecodedMetrics result;
    std::vector<Sentence> sentences;
    for (const uint64_t chunk : shown_items(text.chunks())) {
      std::vector<int32_t> start = side.encode(text.chunk(chunk).text, text.line(chunk));
      start.resize(std::min(start.size(), context / 4));
      result.samples.push_back({side.decode(start), "", ""});
      sentences.push_back(decoder.sentence({}, std::move(start)));
    }
    const std::vector<std::vector<Hypothesis>> found = decoder.decode(sentences);
    for (size_t i = 0; i < found.size(); ++i) {
      std::string& output = result.samples[i].output;
      if (!found[i].empty()) output = side.decode(found[i].front().ids);
      for (size_t at = 0; (at = output.find('\n', at)) != std::string::npos; at += 3) {
        output.replace(at, 1, "⏎");
      }
    }
    return result;
  };
}

}  // namespace rapt::app

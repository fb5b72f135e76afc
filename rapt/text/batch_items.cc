#include "rapt/text/batch_items.h"

#include <algorithm>
#include <limits>

#include "rapt/base/check.h"
#include "rapt/base/philox.h"

namespace rapt {
namespace {

// Items that one task measures; the unknown symbols of blocks are merged in their order.
constexpr size_t kMeasureBlock = 1024;

// Of one side of an item. Sums of these tell two data sets apart, whatever the order of the sum.
uint64_t hash_of(uint64_t place, std::span<const int32_t> ids) {
  uint64_t hash = place * 0x9E3779B97F4A7C15u + ids.size();
  for (const int32_t id : ids) {
    hash = (hash ^ static_cast<uint32_t>(id)) * 0xFF51AFD7ED558CCDu;
    hash ^= hash >> 32;
  }
  return hash;
}

}  // namespace

Shard assemble(std::span<const BatchRows> sequences) {
  Shard shard;
  std::vector<Sequence> source, target;
  for (const BatchRows& rows : sequences) {
    if (!rows.source.empty())
      source.push_back({rows.id, static_cast<uint32_t>(rows.source.size()), 0});
    target.push_back({rows.id, static_cast<uint32_t>(rows.target_in.size()), 0});
    const auto append = [](std::vector<int32_t>& all, const std::vector<int32_t>& part) {
      all.insert(all.end(), part.begin(), part.end());
    };
    append(shard.source_ids, rows.source);
    append(shard.target_in, rows.target_in);
    append(shard.target_out, rows.target_out);
  }
  shard.source = Lengths(std::move(source));
  shard.target = Lengths(std::move(target));
  return shard;
}

static BatchRows pair_rows(uint64_t id, std::vector<int32_t> source, std::vector<int32_t> target,
                           const TextProcessor& text) {
  BatchRows rows{
      .id = id, .source = {}, .target_in = {text.target().ids().decoder_start}, .target_out = {}};
  if (text.has_source()) {
    rows.source = std::move(source);
    rows.source.push_back(text.source().ids().eos);
  }
  rows.target_in.insert(rows.target_in.end(), target.begin(), target.end());
  rows.target_out = std::move(target);
  rows.target_out.push_back(text.target().ids().eos);
  return rows;
}

Shard make_shard(std::span<const Example> examples, const TextProcessor& text) {
  std::vector<BatchRows> sequences;
  for (const Example& e : examples) sequences.push_back(pair_rows(e.id, e.source, e.target, text));
  return assemble(sequences);
}

PairItems::PairItems(ParallelCorpus corpus, TextProcessor text, const BatchOptions& options,
                     Pool& pool)
    : corpus_(std::move(corpus)), text_(std::move(text)), sizes_(corpus_.size()) {
  check(text_.has_source(), "pairs of lines need a text processor of two sides");
  std::vector<Fate> fates(sizes_.size());
  const size_t blocks = (sizes_.size() + kMeasureBlock - 1) / kMeasureBlock;
  std::vector<UnknownSymbols> source(blocks), target(blocks);
  std::vector<uint64_t> contents(blocks);
  pool.row_blocks(sizes_.size(), kMeasureBlock, [&](size_t begin, size_t end) {
    const size_t block = begin / kMeasureBlock;
    ParallelCorpus::Cursor cursor(corpus_);
    for (size_t i = begin; i < end; ++i)
      fates[i] = measure(i, cursor, options, source[block], target[block], contents[block]);
  });
  for (size_t block = 0; block < blocks; ++block) {
    unknown_source.merge(source[block]);
    unknown_target.merge(target[block]);
    counts.content += contents[block];
  }
  count_all(fates);
}

PairItems::Fate PairItems::measure(uint64_t item, ParallelCorpus::Cursor& cursor,
                                   const BatchOptions& options, UnknownSymbols& source,
                                   UnknownSymbols& target, uint64_t& content) {
  if (corpus_.too_long(item)) return Fate::kTooLong;
  const ParallelCorpus::Cursor::View pair = cursor.pair(item);
  const auto source_ids = text_.source().encode(pair.source, item + 1, &source);
  const auto target_ids = text_.target().encode(pair.target, item + 1, &target);
  content += hash_of(2 * item, source_ids) + hash_of(2 * item + 1, target_ids);
  const size_t s = source_ids.size(), t = target_ids.size();
  if ((s == 0 || t == 0) && !options.keep_empty) return Fate::kEmpty;
  if (options.max_length > 0 && std::max(s, t) + 1 > options.max_length) return Fate::kTooLong;
  sizes_[item] = {static_cast<uint32_t>(s + 1), static_cast<uint32_t>(t + 1)};
  return Fate::kUsed;
}

void PairItems::count_all(std::span<const Fate> fates) {
  counts.items = fates.size();
  for (uint64_t i = 0; i < fates.size(); ++i) {
    counts.source_tokens += sizes_[i].source;
    counts.target_tokens += sizes_[i].target;
    counts.used += fates[i] == Fate::kUsed;
    if (fates[i] == Fate::kEmpty && counts.empty++ == 0) counts.first_empty = i + 1;
    if (fates[i] == Fate::kTooLong && counts.too_long++ == 0) counts.first_too_long = i + 1;
  }
  check<IoError>(counts.used > 0, corpus_.name(), ": none of ", counts.items,
                 " items is left: ", counts.empty, " empty, ", counts.too_long, " too long");
}

BatchRows PairItems::rows(uint64_t, uint64_t item) const {
  const ParallelCorpus::Pair pair = corpus_.pair(item);
  return pair_rows(item, text_.source().encode(pair.source), text_.target().encode(pair.target),
                   text_);
}

StreamItems::StreamItems(TextStream stream, TextProcessor text, size_t context,
                         const BatchOptions& options, Pool& pool)
    : stream_(std::move(stream)),
      text_(std::move(text)),
      context_(context),
      seed_(options.seed),
      shuffle_(options.shuffle),
      starts_(stream_.chunks() + 1) {
  check(context_ >= 1 && context_ <= size_t{1} << 24, "context: ", context_,
        ", expected 1 to 2^24");
  const size_t chunks = stream_.chunks(), blocks = (chunks + kMeasureBlock - 1) / kMeasureBlock;
  std::vector<UnknownSymbols> unknown(blocks);
  std::vector<uint64_t> contents(blocks);
  pool.row_blocks(chunks, kMeasureBlock, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const auto ids = chunk_ids(i, &unknown[begin / kMeasureBlock]);
      contents[begin / kMeasureBlock] += hash_of(i, ids);
      starts_[i + 1] = ids.size();
    }
  });
  for (const uint64_t part : contents) counts.content += part;
  for (const UnknownSymbols& part : unknown) unknown_target.merge(part);
  for (size_t i = 0; i < chunks; ++i) starts_[i + 1] += starts_[i];
  check<IoError>(starts_.back() >= 2, stream_.name(), ": ", starts_.back(),
                 " tokens, expected at least 2");
  counts.items = counts.used = count(0);
  counts.target_tokens = starts_.back() - 1;
}

uint64_t StreamItems::shift(uint64_t epoch) const {
  if (!shuffle_) return context_;
  return 1 + op_key(seed_, Stream::kShuffle, site_of("shift"), epoch) % context_;
}

uint64_t StreamItems::start(uint64_t epoch, uint64_t item) const {
  const uint64_t place = item == 0 ? 0 : shift(epoch) + (item - 1) * context_;
  return std::min(place, starts_.back() - 1);
}

uint64_t StreamItems::count(uint64_t epoch) const {
  const uint64_t predictions = starts_.back() - 1, first = std::min(shift(epoch), predictions);
  return 1 + (predictions - first + context_ - 1) / context_;
}

BatchItems::Size StreamItems::size(uint64_t epoch, uint64_t item) const {
  return {0, static_cast<uint32_t>(start(epoch, item + 1) - start(epoch, item))};
}

std::vector<int32_t> StreamItems::chunk_ids(uint64_t chunk, UnknownSymbols* unknown) const {
  const TextStream::Chunk part = stream_.chunk(chunk);
  const uint64_t line = stream_.line(chunk);
  const TextSide& side = text_.target();
  std::vector<int32_t> ids = side.encode(part.text, line, unknown);
  if (!part.newline) return ids;
  if (!side.newline() && unknown != nullptr) unknown->add(line, "\n");
  ids.push_back(side.newline().value_or(side.ids().unk));
  return ids;
}

std::vector<int32_t> StreamItems::tokens(uint64_t begin, uint64_t end) const {
  std::vector<int32_t> result;
  result.reserve(end - begin);
  auto chunk = static_cast<uint64_t>(std::upper_bound(starts_.begin(), starts_.end(), begin) -
                                     starts_.begin() - 1);
  for (uint64_t at = begin; at < end; ++chunk) {
    const std::vector<int32_t> ids = chunk_ids(chunk, nullptr);
    const uint64_t first = at - starts_[chunk], last = std::min(end - starts_[chunk], ids.size());
    result.insert(result.end(), ids.begin() + static_cast<ptrdiff_t>(first),
                  ids.begin() + static_cast<ptrdiff_t>(last));
    at = starts_[chunk] + last;
  }
  return result;
}

BatchRows StreamItems::rows(uint64_t epoch, uint64_t item) const {
  std::vector<int32_t> ids = tokens(start(epoch, item), start(epoch, item + 1) + 1);
  BatchRows rows{
      .id = item, .source = {}, .target_in = {ids.begin(), ids.end() - 1}, .target_out = {}};
  ids.erase(ids.begin());
  rows.target_out = std::move(ids);
  return rows;
}

}  // namespace rapt

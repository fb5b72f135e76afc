#include "rapt/text/batch_items.h"

#include <algorithm>
#include <limits>

#include "rapt/base/check.h"
#include "rapt/base/philox.h"

namespace rapt {
namespace {

// Items that one task measures; the unknown symbols of blocks are merged in their order.
constexpr size_t kMeasureBlock = 4096;

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

// What one task finds; the ids are those of the last item.
struct PairItems::Block {
  BatchCounts counts;
  UnknownSymbols unknown_source, unknown_target;
  std::vector<int32_t> source, target;
};

PairItems::PairItems(ParallelCorpus corpus, TextProcessor text, const BatchOptions& options,
                     Pool& pool)
    : corpus_(std::move(corpus)), text_(std::move(text)), sizes_(corpus_.size()) {
  check(text_.has_source(), "pairs of lines need a text processor of two sides");
  std::vector<Block> blocks((sizes_.size() + kMeasureBlock - 1) / kMeasureBlock);
  pool.row_blocks(sizes_.size(), kMeasureBlock, [&](size_t begin, size_t end) {
    Block block;
    ParallelCorpus::Cursor cursor(corpus_, begin, end);
    for (size_t i = begin; i < end; ++i) measure(i, cursor, options, block);
    block.source = block.target = {};
    blocks[begin / kMeasureBlock] = std::move(block);
  });
  for (const Block& block : blocks) {
    counts.add(block.counts);
    unknown_source.merge(block.unknown_source);
    unknown_target.merge(block.unknown_target);
  }
  check<IoError>(counts.used > 0, corpus_.name(), ": none of ", counts.items,
                 " items is left: ", counts.empty, " empty, ", counts.too_long, " too long");
}

void PairItems::measure(uint64_t item, ParallelCorpus::Cursor& cursor, const BatchOptions& options,
                        Block& block) {
  BatchCounts& counts = block.counts;
  const auto leave_out = [item](uint64_t& count, uint64_t& first) {
    if (count++ == 0) first = item + 1;
  };
  ++counts.items;
  if (corpus_.too_long(item)) return leave_out(counts.too_long, counts.first_too_long);
  const ParallelCorpus::Cursor::View pair = cursor.pair(item);
  block.source.clear();
  block.target.clear();
  text_.source().encode_to(block.source, pair.source, item + 1, &block.unknown_source);
  text_.target().encode_to(block.target, pair.target, item + 1, &block.unknown_target);
  counts.content += hash_of(2 * item, block.source) + hash_of(2 * item + 1, block.target);
  const size_t s = block.source.size(), t = block.target.size();
  if ((s == 0 || t == 0) && !options.keep_empty) {
    return leave_out(counts.empty, counts.first_empty);
  }
  if (options.max_length > 0 && std::max(s, t) + 1 > options.max_length) {
    return leave_out(counts.too_long, counts.first_too_long);
  }
  sizes_[item] = {static_cast<uint32_t>(s + 1), static_cast<uint32_t>(t + 1)};
  ++counts.used;
  counts.source_tokens += s + 1;
  counts.target_tokens += t + 1;
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
    TextStream::Cursor cursor(stream_, begin, end);
    std::vector<int32_t> ids;
    uint64_t content = 0;
    for (size_t i = begin; i < end; ++i) {
      ids.clear();
      encode_to(ids, i, cursor, &unknown[begin / kMeasureBlock]);
      content += hash_of(i, ids);
      starts_[i + 1] = ids.size();
    }
    contents[begin / kMeasureBlock] = content;
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

void StreamItems::encode_to(std::vector<int32_t>& ids, uint64_t chunk, TextStream::Cursor& cursor,
                            UnknownSymbols* unknown) const {
  const TextStream::Cursor::View part = cursor.chunk(chunk);
  const uint64_t line = stream_.line(chunk);
  const TextSide& side = text_.target();
  side.encode_to(ids, part.text, line, unknown);
  if (!part.newline) return;
  if (!side.newline() && unknown != nullptr) unknown->add(line, "\n");
  ids.push_back(side.newline().value_or(side.ids().unk));
}

std::vector<int32_t> StreamItems::tokens(uint64_t begin, uint64_t end) const {
  const auto chunk_of = [&](auto found) { return static_cast<uint64_t>(found - starts_.begin()); };
  const uint64_t first = chunk_of(std::upper_bound(starts_.begin(), starts_.end(), begin)) - 1;
  const uint64_t last = chunk_of(std::lower_bound(starts_.begin(), starts_.end(), end));
  TextStream::Cursor cursor(stream_, first, last);
  std::vector<int32_t> ids;
  for (uint64_t i = first; i < last; ++i) encode_to(ids, i, cursor, nullptr);
  ids.erase(ids.begin(), ids.begin() + static_cast<ptrdiff_t>(begin - starts_[first]));
  ids.resize(end - begin);
  return ids;
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

#include "rapt/text/batches.h"

#include <algorithm>
#include <mutex>
#include <numeric>

#include "rapt/base/check.h"
#include "rapt/base/philox.h"
#include "rapt/text/batch_items.h"
#include "rapt/text/permutation.h"

namespace rapt {
namespace {

constexpr uint64_t kUpdatesPerWindow = 64;

void check_options(const BatchOptions& options) {
  const auto in_range = [](const char* name, size_t value, size_t max) {
    check(value >= 1 && value <= max, name, ": ", value, ", expected 1 to ", max);
  };
  in_range("batch_tokens", options.batch_tokens, size_t{1} << 30);
  in_range("accumulate", options.accumulate, size_t{1} << 16);
  in_range("shards", options.shards, size_t{1} << 16);
}

}  // namespace

BatchOptions BatchOptions::validation(size_t batch_tokens, size_t max_length) {
  BatchOptions options;
  options.batch_tokens = batch_tokens;
  options.max_length = max_length;
  options.shuffle = false;
  options.keep_empty = true;
  return options;
}

std::string BatchCounts::report(const BatchOptions& options) const {
  if (empty + too_long == 0) return "";
  std::string text = concat("left out ", empty + too_long, " of ", items, " items: ");
  if (empty > 0) text += concat(empty, " empty (first: line ", first_empty, ')');
  if (empty > 0 && too_long > 0) text += ", ";
  if (too_long > 0) {
    text += concat(too_long, " over ", options.max_length, " tokens (first: line ", first_too_long,
                   ')');
  }
  return text;
}

void BatchCounts::add(const BatchCounts& later) {
  items += later.items;
  used += later.used;
  empty += later.empty;
  too_long += later.too_long;
  source_tokens += later.source_tokens;
  target_tokens += later.target_tokens;
  content += later.content;
  if (first_empty == 0) first_empty = later.first_empty;
  if (first_too_long == 0) first_too_long = later.first_too_long;
}

class BatchPlan::Impl {
 public:
  Impl(std::unique_ptr<BatchItems> items, const BatchOptions& options, Pool& pool)
      : items_(std::move(items)),
        options_(options),
        pool_(pool),
        budget_(options.batch_tokens * options.accumulate) {
    const uint64_t per_window = kUpdatesPerWindow * budget_;
    windows_ = std::max<uint64_t>(1, (items_->counts.target_tokens + per_window / 2) / per_window);
  }

  uint64_t updates(uint64_t epoch) {
    const std::lock_guard lock(mutex_);
    return layout(epoch).back();
  }

  Update at(uint64_t epoch, uint64_t index) {
    Update update;
    std::vector<BatchRows> rows;
    for (const uint64_t item : items_of(epoch, index)) {
      rows.push_back(items_->rows(epoch, item));
      update.target_tokens += rows.back().target_out.size();
    }
    cut_shards(rows, update);
    return update;
  }

  const BatchItems& items() const { return *items_; }
  const BatchOptions& options() const { return options_; }

 private:
  using Items = std::vector<uint64_t>;
  struct Entry {
    BatchItems::Size size;
    uint64_t item;
  };
  using Window = std::vector<Entry>;

  uint64_t key(const char* purpose, uint64_t epoch) const {
    return op_key(options_.seed, Stream::kShuffle, site_of(purpose), epoch);
  }

  // The items of a window, sorted by length; ties keep the order of the epoch.
  Window sorted_window(uint64_t epoch, uint64_t window) const {
    const uint64_t n = items_->count(epoch), order = key("items", epoch);
    const uint64_t begin = n * window / windows_, end = n * (window + 1) / windows_;
    std::vector<uint64_t> items(end - begin);
    if (options_.shuffle) {
      permuted(begin, items, n, order);
    } else {
      std::iota(items.begin(), items.end(), begin);
    }
    Window entries;
    entries.reserve(items.size());
    for (const uint64_t item : items) {
      const BatchItems::Size size = items_->size(epoch, item);
      if (size.target > 0) entries.push_back({size, item});
    }
    sort_by(&BatchItems::Size::source, entries);
    sort_by(&BatchItems::Size::target, entries);
    return entries;
  }

  // Stable, by counting: lengths are small.
  static void sort_by(uint32_t BatchItems::Size::*side, Window& entries) {
    std::vector<size_t> first;  // by length: the place of its first entry, then of the next
    for (const Entry& entry : entries) {
      const size_t length = entry.size.*side;
      if (first.size() < length + 2) first.resize(length + 2);
      ++first[length + 1];
    }
    std::partial_sum(first.begin(), first.end(), first.begin());
    Window sorted(entries.size());
    for (const Entry& entry : entries) sorted[first[entry.size.*side]++] = entry;
    entries = std::move(sorted);
  }

  // The places in a sorted window where its updates begin.
  Items cut_updates(const Window& sorted) const {
    Items begins;
    uint64_t source = 0, target = 0;
    for (uint64_t i = 0; i < sorted.size(); ++i) {
      const BatchItems::Size size = sorted[i].size;
      source += size.source;
      target += size.target;
      if (i == 0 || target > budget_ || source > 2 * budget_) {
        begins.push_back(i);
        source = size.source;
        target = size.target;
      }
    }
    return begins;
  }

  // The index of each window's first update, and the number of all.
  const std::vector<uint64_t>& layout(uint64_t epoch) {
    if (!layout_.empty() && layout_epoch_ == epoch) return layout_;
    layout_.clear();
    Items first(windows_ + 1);
    pool_.run(windows_, [&](size_t window) {
      first[window + 1] = cut_updates(sorted_window(epoch, window)).size();
    });
    std::partial_sum(first.begin(), first.end(), first.begin());
    layout_ = std::move(first);
    layout_epoch_ = epoch;
    return layout_;
  }

  Items items_of(uint64_t epoch, uint64_t index) {
    const std::lock_guard lock(mutex_);
    const std::vector<uint64_t>& first = layout(epoch);
    check(index < first.back(), "update ", index, " of ", first.back(), " in epoch ", epoch);
    const auto window = static_cast<uint64_t>(std::upper_bound(first.begin(), first.end(), index) -
                                              first.begin() - 1);
    if (cached_.empty() || cached_epoch_ != epoch || cached_window_ != window) {
      cached_ = sorted_window(epoch, window);
      cached_begins_ = cut_updates(cached_);
      cached_epoch_ = epoch;
      cached_window_ = window;
    }
    uint64_t place = index - first[window];
    const uint64_t n = cached_begins_.size();
    if (options_.shuffle) {
      const uint64_t order =
          op_key(key("updates", epoch), Stream::kShuffle, site_of("window"), window);
      place = permuted(place, n, order);
    }
    const uint64_t end = place + 1 < n ? cached_begins_[place + 1] : cached_.size();
    Items items;
    for (uint64_t i = cached_begins_[place]; i < end; ++i) items.push_back(cached_[i].item);
    return items;
  }

  // A sequence goes to the part in which the middle of its target tokens lies.
  void cut_shards(std::span<const BatchRows> rows, Update& update) const {
    const uint64_t parts = options_.shards * options_.accumulate;
    uint64_t before = 0, begin = 0, part = 0;
    const auto close = [&](uint64_t end) {
      if (end > begin) update.shards.push_back(assemble(rows.subspan(begin, end - begin)));
      begin = end;
    };
    for (uint64_t i = 0; i < rows.size(); ++i) {
      const uint64_t size = rows[i].target_out.size();
      const uint64_t mine = parts * (2 * before + size) / (2 * update.target_tokens);
      if (mine != part) close(i);
      part = mine;
      before += size;
    }
    close(rows.size());
  }

  std::unique_ptr<BatchItems> items_;
  BatchOptions options_;
  Pool& pool_;
  uint64_t budget_, windows_;  // target tokens of an update; windows of an epoch

  std::mutex mutex_;
  std::vector<uint64_t> layout_;
  Window cached_;
  Items cached_begins_;
  uint64_t layout_epoch_ = 0, cached_epoch_ = 0, cached_window_ = 0;
};

BatchPlan::BatchPlan(ParallelCorpus corpus, TextProcessor text, const BatchOptions& options,
                     Pool& pool) {
  check_options(options);
  impl_ = std::make_unique<Impl>(
      std::make_unique<PairItems>(std::move(corpus), std::move(text), options, pool), options,
      pool);
}

BatchPlan::BatchPlan(TextStream stream, TextProcessor text, size_t context,
                     const BatchOptions& options, Pool& pool) {
  check_options(options);
  impl_ = std::make_unique<Impl>(
      std::make_unique<StreamItems>(std::move(stream), std::move(text), context, options, pool),
      options, pool);
}

BatchPlan::~BatchPlan() = default;
BatchPlan::BatchPlan(BatchPlan&&) noexcept = default;
BatchPlan& BatchPlan::operator=(BatchPlan&&) noexcept = default;

uint64_t BatchPlan::updates(uint64_t epoch) const { return impl_->updates(epoch); }
Update BatchPlan::at(uint64_t epoch, uint64_t index) const { return impl_->at(epoch, index); }
const BatchCounts& BatchPlan::counts() const { return impl_->items().counts; }
const UnknownSymbols& BatchPlan::unknown_source() const { return impl_->items().unknown_source; }
const UnknownSymbols& BatchPlan::unknown_target() const { return impl_->items().unknown_target; }
const BatchOptions& BatchPlan::options() const { return impl_->options(); }

}  // namespace rapt

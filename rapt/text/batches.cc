#include "rapt/text/batches.h"

#include <algorithm>
#include <mutex>
#include <tuple>

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

class BatchPlan::Impl {
 public:
  Impl(std::unique_ptr<BatchItems> items, const BatchOptions& options)
      : items_(std::move(items)),
        options_(options),
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

  uint64_t key(const char* purpose, uint64_t epoch) const {
    return op_key(options_.seed, Stream::kShuffle, site_of(purpose), epoch);
  }

  // The items of a window, sorted by length; ties keep the order of the epoch.
  Items sorted_window(uint64_t epoch, uint64_t window) const {
    struct Entry {
      BatchItems::Size size;
      uint64_t position, item;
    };
    const uint64_t n = items_->count(epoch), order = key("items", epoch);
    std::vector<Entry> entries;
    for (uint64_t i = n * window / windows_; i < n * (window + 1) / windows_; ++i) {
      const uint64_t item = options_.shuffle ? permuted(i, n, order) : i;
      const BatchItems::Size size = items_->size(epoch, item);
      if (size.target > 0) entries.push_back({size, i, item});
    }
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return std::tie(a.size.target, a.size.source, a.position) <
             std::tie(b.size.target, b.size.source, b.position);
    });
    Items sorted;
    sorted.reserve(entries.size());
    for (const Entry& entry : entries) sorted.push_back(entry.item);
    return sorted;
  }

  std::vector<Items> cut_updates(uint64_t epoch, const Items& sorted) const {
    std::vector<Items> updates;
    uint64_t source = 0, target = 0;
    for (const uint64_t item : sorted) {
      const BatchItems::Size size = items_->size(epoch, item);
      source += size.source;
      target += size.target;
      if (updates.empty() || target > budget_ || source > 2 * budget_) {
        updates.emplace_back();
        source = size.source;
        target = size.target;
      }
      updates.back().push_back(item);
    }
    return updates;
  }

  // The index of each window's first update, and the number of all.
  const std::vector<uint64_t>& layout(uint64_t epoch) {
    if (!layout_.empty() && layout_epoch_ == epoch) return layout_;
    layout_.assign(1, 0);
    for (uint64_t w = 0; w < windows_; ++w) {
      layout_.push_back(layout_.back() + cut_updates(epoch, sorted_window(epoch, w)).size());
    }
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
      cached_ = cut_updates(epoch, sorted_window(epoch, window));
      cached_epoch_ = epoch;
      cached_window_ = window;
    }
    const uint64_t place = index - first[window], n = cached_.size();
    if (!options_.shuffle) return cached_[place];
    const uint64_t order =
        op_key(key("updates", epoch), Stream::kShuffle, site_of("window"), window);
    return cached_[permuted(place, n, order)];
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
  uint64_t budget_, windows_;  // target tokens of an update; windows of an epoch

  std::mutex mutex_;
  std::vector<uint64_t> layout_;
  std::vector<Items> cached_;
  uint64_t layout_epoch_ = 0, cached_epoch_ = 0, cached_window_ = 0;
};

BatchPlan::BatchPlan(ParallelCorpus corpus, TextProcessor text, const BatchOptions& options,
                     Pool& pool) {
  check_options(options);
  impl_ = std::make_unique<Impl>(
      std::make_unique<PairItems>(std::move(corpus), std::move(text), options, pool), options);
}

BatchPlan::BatchPlan(TextStream stream, TextProcessor text, size_t context,
                     const BatchOptions& options, Pool& pool) {
  check_options(options);
  impl_ = std::make_unique<Impl>(
      std::make_unique<StreamItems>(std::move(stream), std::move(text), context, options, pool),
      options);
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

#include "rapt/base/lengths.h"

#include <algorithm>

#include "rapt/base/check.h"

namespace rapt {

Lengths::Lengths(std::vector<Sequence> sequences) {
  auto table = std::make_shared<Table>();
  table->offsets.reserve(sequences.size() + 1);
  table->offsets.push_back(0);
  for (const Sequence& s : sequences) {
    check(s.id < uint64_t{1} << 48, "Lengths: sequence id ", s.id, " is not below 2^48");
    table->offsets.push_back(table->offsets.back() + s.size);
    table->longest = std::max<size_t>(table->longest, s.size);
  }
  table->sequences = std::move(sequences);
  table_ = std::move(table);
}

Lengths Lengths::of(std::span<const uint32_t> sizes, uint64_t first_id) {
  std::vector<Sequence> sequences;
  sequences.reserve(sizes.size());
  for (const uint32_t size : sizes) sequences.push_back({first_id++, size, 0});
  return Lengths(std::move(sequences));
}

Lengths Lengths::single(size_t rows, uint64_t id) {
  return Lengths({{id, static_cast<uint32_t>(rows), 0}});
}

size_t Lengths::find(size_t row) const {
  const auto& offsets = table_->offsets;
  // The last sequence that starts at or before the row; empty sequences before it are skipped.
  return static_cast<size_t>(std::upper_bound(offsets.begin(), offsets.end(), row) -
                             offsets.begin()) -
         1;
}

Lengths Lengths::rows_of(std::span<const int32_t> rows) const {
  std::vector<Sequence> sequences;
  for (const int32_t row : rows) {
    const RowKey here = key(static_cast<size_t>(row));
    Sequence* last = sequences.empty() ? nullptr : &sequences.back();
    if (last != nullptr && last->id == here.id && last->past + last->size == here.position) {
      ++last->size;
    } else {
      sequences.push_back({here.id, 1, here.position});
    }
  }
  return Lengths(std::move(sequences));
}

RowKey Lengths::key(size_t row) const {
  const size_t s = find(row);
  const Sequence& sequence = table_->sequences[s];
  return {sequence.id, sequence.past + static_cast<uint32_t>(row - offset(s))};
}

}  // namespace rapt

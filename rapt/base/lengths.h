// The ragged shape of an activation [rows, d]: sentences one after another, no padding. It names
// each row by its sentence and its position there, so that nothing random or positional depends on
// the row's place in the batch.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace rapt {

struct Sequence {
  uint64_t id = 0;  // < 2^48. Training: line (stream: window) number; decoding: hash of source ids
  uint32_t size = 0;  // rows in this call: a sentence, a prompt, or 1 when decoding
  uint32_t past = 0;  // position of its first row = its rows already in the cache
};

struct RowKey {
  uint64_t id;
  uint32_t position;
};

// Immutable and cheap to copy: copies share the table.
class Lengths {
 public:
  Lengths() : Lengths(std::vector<Sequence>{}) {}
  explicit Lengths(std::vector<Sequence> sequences);  // throws InvalidArgument if an id >= 2^48
  // `sizes.size()` sentences with ids first_id, first_id + 1, …, nothing in the cache.
  static Lengths of(std::span<const uint32_t> sizes, uint64_t first_id = 0);
  // One sequence of all rows: for rows whose sentence does not matter.
  static Lengths single(size_t rows, uint64_t id = 0);

  size_t sequences() const { return table_->sequences.size(); }
  size_t rows() const { return table_->offsets.back(); }
  size_t offset(size_t s) const { return table_->offsets[s]; }  // offset(sequences()) == rows()
  Sequence operator[](size_t s) const { return table_->sequences[s]; }
  size_t longest() const { return table_->longest; }
  RowKey key(size_t row) const;  // {id, position}; O(log sequences)
  // Calls f(row, RowKey) for rows [begin, end) in order; O(rows) after one search.
  template <class F>
  void for_each_key(size_t begin, size_t end, const F& f) const {
    for (size_t row = begin, s = begin < end ? find(begin) : 0; row < end; ++s) {
      const Sequence& sequence = table_->sequences[s];
      const size_t first = offset(s), last = end < offset(s + 1) ? end : offset(s + 1);
      for (; row < last; ++row) {
        f(row, RowKey{sequence.id, sequence.past + static_cast<uint32_t>(row - first)});
      }
    }
  }
  size_t find(size_t row) const;  // the sequence that holds `row`
  // Of some rows, ascending: each is named as it is here.
  Lengths rows_of(std::span<const int32_t> rows) const;

 private:
  struct Table {
    std::vector<Sequence> sequences;
    std::vector<size_t> offsets;
    size_t longest = 0;
  };
  std::shared_ptr<const Table> table_;
};

}  // namespace rapt

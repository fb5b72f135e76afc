// Where the lines of a file start: what the classes of corpus.h are built on.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rapt/base/file.h"
#include "rapt/parallel/pool.h"

namespace rapt {

// Ascending places in a file, 4 bytes each: the low halves, and where the high half goes up.
class Offsets {
 public:
  size_t size() const { return low_.size(); }
  uint64_t operator[](size_t i) const {
    const auto rises = std::upper_bound(rises_.begin(), rises_.end(), i) - rises_.begin();
    return static_cast<uint64_t>(rises) << 32 | low_[i];
  }
  uint64_t back() const { return (*this)[size() - 1]; }
  void reserve(size_t size) { low_.reserve(size); }
  void push_back(uint64_t offset) {
    rises_.resize(offset >> 32, low_.size());
    low_.push_back(static_cast<uint32_t>(offset));
  }

 private:
  std::vector<uint32_t> low_;
  std::vector<size_t> rises_;  // the first element beyond 2^32, beyond 2 * 2^32, …
};

// starts[i] is the first byte of line i; line i ends one byte (its newline, real or not) before
// starts[i + 1]. Reads the file once and checks UTF-8 and, unless 0, the number of columns; the
// first fault of the file is the one that is thrown. Blocks of `block` bytes are shared out among
// the threads of the pool, if there is one.
Offsets index_lines(const InputFile& file, std::string_view name, size_t columns, Pool* pool,
                    size_t block = size_t{1} << 22);

// Stretches of a file: those that follow one another come from blocks that are read at once, within
// [begin, end). Borrows the file. Of one thread.
class ReadAhead {
 public:
  ReadAhead(const InputFile& file, uint64_t begin, uint64_t end)
      : file_(&file), last_(begin), end_(std::min(end, file.size())) {}
  std::string_view text(uint64_t begin, uint64_t end);  // valid until the next call
  // A line that lies there: without the "\r" of "\r\n".
  std::string_view line(uint64_t begin, uint64_t end) {
    const std::string_view all = text(begin, end);
    return all.ends_with('\r') ? all.substr(0, all.size() - 1) : all;
  }

 private:
  const InputFile* file_;
  std::string buffer_;                        // starts with the block
  uint64_t block_begin_ = 0, block_end_ = 0;  // in the file
  uint64_t last_;                             // the end of the last stretch
  uint64_t end_;
};

}  // namespace rapt

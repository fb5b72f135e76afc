#include "rapt/text/line_index.h"

#include <memory>
#include <optional>
#include <span>

#include "rapt/base/check.h"
#include "rapt/base/utf8.h"

namespace rapt {
namespace {

constexpr std::string_view kMark = "\xEF\xBB\xBF";

// What is wrong with a line of a block: thrown by a task, whose caller alone can number the line.
struct Fault {
  size_t block = 0;
  uint64_t line = 0;                // in the block, from 0
  uint64_t begin = 0, at = 0;       // of the line, and of the bad byte
  std::optional<size_t> columns{};  // found; none: the byte is not UTF-8
};

// The lines that start in one block. Who starts a line reads it to its end, wherever that is.
class BlockScanner {
 public:
  BlockScanner(const InputFile& file, size_t columns, size_t block, uint64_t begin, uint64_t end)
      : file_(file), columns_(columns), block_(block), begin_(begin), end_(end) {}

  // Offsets of their starts from the first byte of the block.
  std::vector<uint32_t> run(bool first_of_file) {
    constexpr uint64_t kRead = uint64_t{1} << 18, kReadBeyond = uint64_t{1} << 14;
    const auto buffer = std::make_unique_for_overwrite<char[]>(kRead);
    uint64_t at = first_of_file ? begin_ : begin_ - 1;
    if (first_of_file) start_line(at);
    while (at < file_.size()) {
      const uint64_t rest = at < end_ ? std::max(end_ - at, kReadBeyond) : kReadBeyond;
      const uint64_t n = std::min({rest, kRead, file_.size() - at});
      file_.read(at, std::as_writable_bytes(std::span(buffer.get(), n)));
      std::string_view text(buffer.get(), n);
      if (starts_.empty()) {
        const size_t skipped = std::min(text.find('\n'), n - 1) + 1;
        at += skipped;
        if (at >= end_) return {};
        if (text[skipped - 1] != '\n') continue;
        start_line(at);
        text.remove_prefix(skipped);
      }
      // A code point that the end of the text splits waits for the next one.
      const size_t valid = utf8_valid_prefix(text), left = text.size() - valid;
      if (lines(text.substr(0, valid), at)) return std::move(starts_);
      at += valid;
      if (left > 3 || (left > 0 && at + left == file_.size())) fail(at);
    }
    check_columns();
    return std::move(starts_);
  }

 private:
  void start_line(uint64_t at) { starts_.push_back(static_cast<uint32_t>(at - begin_)); }

  // True when the last line of the block has ended.
  bool lines(std::string_view text, uint64_t at) {
    for (size_t begin = 0; begin < text.size();) {
      const size_t newline = text.find('\n', begin);
      const size_t end = std::min(newline, text.size());
      if (columns_ > 0) tabs_ += std::count(&text[begin], &text[begin] + (end - begin), '\t');
      if (newline == std::string_view::npos) break;
      check_columns();
      begin = newline + 1;
      if (at + begin >= end_) return true;
      start_line(at + begin);
    }
    return false;
  }
  void check_columns() {
    const size_t found = static_cast<size_t>(tabs_) + 1;
    if (columns_ != 0 && found != columns_) fail(0, found);
    tabs_ = 0;
  }
  [[noreturn]] void fail(uint64_t at, std::optional<size_t> columns = {}) const {
    throw Fault{block_, starts_.size() - 1, begin_ + starts_.back(), at, columns};
  }

  const InputFile& file_;
  const size_t columns_, block_;
  const uint64_t begin_, end_;
  ptrdiff_t tabs_ = 0;
  std::vector<uint32_t> starts_;
};

[[noreturn]] void refuse(const Fault& fault, uint64_t line, const InputFile& file,
                         std::string_view name, size_t columns) {
  if (!fault.columns) {
    const uint64_t end = std::min(fault.at + 4, file.size());
    check_utf8(file.read_text(fault.begin, end - fault.begin), name, line);
  }
  const size_t found = fault.columns.value_or(0);
  throw IoError(concat(name, ':', line, ": ",
                       found == 1 ? "a line without a tab" : concat(found, " columns"),
                       ", expected ", columns, " columns with a tab between them"));
}

}  // namespace

Offsets index_lines(const InputFile& file, std::string_view name, size_t columns, Pool* pool,
                    size_t block) {
  const uint64_t size = file.size();
  check<IoError>(size > 0, name, ": is empty");
  const bool mark = size >= kMark.size() && file.read_text(0, kMark.size()) == kMark;
  const uint64_t first = mark ? kMark.size() : 0;
  std::vector<std::vector<uint32_t>> parts(
      std::max<uint64_t>(1, (size - first + block - 1) / block));
  const auto begin_of = [&](size_t part) { return first + part * block; };
  const auto scan = [&](size_t part) {
    const uint64_t begin = begin_of(part), end = std::min(begin + block, size);
    parts[part] = BlockScanner(file, columns, part, begin, end).run(part == 0);
  };
  const auto lines_before = [&](size_t part) {
    uint64_t lines = 0;
    for (size_t p = 0; p < part; ++p) lines += parts[p].size();
    return lines;
  };
  try {
    if (pool != nullptr) {
      pool->run(parts.size(), scan);
    } else {
      for (size_t part = 0; part < parts.size(); ++part) scan(part);
    }
  } catch (const Fault& fault) {  // that of the lowest block: those before it are whole
    refuse(fault, lines_before(fault.block) + fault.line + 1, file, name, columns);
  }
  Offsets starts;
  starts.reserve(lines_before(parts.size()) + 1);
  for (size_t part = 0; part < parts.size(); ++part) {
    for (const uint32_t start : parts[part]) starts.push_back(begin_of(part) + start);
    parts[part] = {};
  }
  starts.push_back(size > first && file.read_text(size - 1, 1) == "\n" ? size : size + 1);
  return starts;
}

std::string_view ReadAhead::text(uint64_t begin, uint64_t end) {
  if (begin < block_begin_ || end > block_end_) {
    constexpr uint64_t kBlock = uint64_t{1} << 16;
    const bool follows = begin == last_ || begin == last_ + 1;  // a newline may be between them
    block_begin_ = begin;
    block_end_ = std::max(end, follows ? std::min(begin + kBlock, end_) : 0);
    const uint64_t size = block_end_ - begin;
    if (buffer_.size() < size) buffer_.resize(size);
    file_->read(begin, std::as_writable_bytes(std::span(buffer_).first(size)));
  }
  last_ = end;
  return std::string_view(buffer_).substr(begin - block_begin_, end - begin);
}

}  // namespace rapt

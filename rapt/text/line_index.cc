#include "rapt/text/line_index.h"

#include <algorithm>

#include "rapt/base/check.h"
#include "rapt/base/utf8.h"

namespace rapt {
namespace {

constexpr std::string_view kMark = "\xEF\xBB\xBF";

class Scanner {
 public:
  Scanner(const InputFile& file, std::string_view name, size_t columns)
      : file_(file), name_(name), columns_(columns) {}

  std::vector<uint64_t> run() {
    const uint64_t size = file_.size();
    check<IoError>(size > 0, name_, ": is empty");
    const bool mark = size >= kMark.size() && file_.read_text(0, kMark.size()) == kMark;
    starts_.push_back(mark ? kMark.size() : 0);
    constexpr uint64_t kBlock = uint64_t{1} << 20;
    for (uint64_t at = starts_.back(); at < size;) {
      const uint64_t n = std::min(kBlock, size - at);
      const std::string block = file_.read_text(at, n);
      // A code point that the end of the block splits waits for the next one.
      const size_t valid = utf8_valid_prefix(block);
      lines(std::string_view(block).substr(0, valid), at);
      at += valid;
      if (valid < n && (n - valid > 3 || at + (n - valid) == size)) refuse(at);
    }
    if (starts_.back() < size || starts_.size() == 1) end_line(size);
    return std::move(starts_);
  }

 private:
  void lines(std::string_view text, uint64_t at) {
    for (size_t begin = 0; begin < text.size();) {
      const size_t newline = text.find('\n', begin);
      const size_t end = std::min(newline, text.size());
      if (columns_ > 0) tabs_ += std::count(&text[begin], &text[begin] + (end - begin), '\t');
      if (newline == std::string_view::npos) return;
      end_line(at + newline);
      begin = newline + 1;
    }
  }
  void end_line(uint64_t newline) {
    const size_t found = static_cast<size_t>(tabs_) + 1;
    check<IoError>(columns_ == 0 || found == columns_, name_, ':', starts_.size(), ": ",
                   found == 1 ? "a line without a tab" : concat(found, " columns"), ", expected ",
                   columns_, " columns with a tab between them");
    tabs_ = 0;
    starts_.push_back(newline + 1);
  }
  void refuse(uint64_t at) const {
    const uint64_t begin = starts_.back(), end = std::min(at + 4, file_.size());
    check_utf8(file_.read_text(begin, end - begin), name_, starts_.size());
  }

  const InputFile& file_;
  std::string_view name_;
  size_t columns_;
  ptrdiff_t tabs_ = 0;
  std::vector<uint64_t> starts_;
};

}  // namespace

std::vector<uint64_t> index_lines(const InputFile& file, std::string_view name, size_t columns) {
  return Scanner(file, name, columns).run();
}

std::string line_text(const InputFile& file, uint64_t begin, uint64_t end) {
  std::string text = file.read_text(begin, end - begin);
  if (text.ends_with('\r')) text.pop_back();
  return text;
}

}  // namespace rapt

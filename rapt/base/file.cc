#include "rapt/base/file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "rapt/base/check.h"
#include "rapt/base/utf8.h"

namespace rapt {
namespace {

[[noreturn]] void fail(const std::string& name, std::string_view what, int error) {
  throw IoError(concat(name, ": ", what, ": ", std::generic_category().message(error)));
}

// EINTR is not an end: signal handlers set a flag and reading or writing goes on.
template <class F>
ssize_t retried(const F& call) {
  ssize_t n;
  do n = call();
  while (n < 0 && errno == EINTR);
  return n;
}

int open_file(const fs::path& path, int flags = 0) {
  const int fd =
      static_cast<int>(retried([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags); }));
  if (fd < 0) fail(path.string(), "cannot open", errno);
  return fd;
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

}  // namespace

// Without blocking: a pipe without a writer is refused below, not waited for.
InputFile::InputFile(const fs::path& path) : path_(path), fd_(open_file(path, O_NONBLOCK)) {
  struct stat status {};
  const bool known = ::fstat(fd_, &status) == 0;
  if (!known || !S_ISREG(status.st_mode)) {
    ::close(fd_);
    throw IoError(concat(path.string(), ": not a regular file",
                         known && S_ISDIR(status.st_mode) ? " but a directory" : ""));
  }
  size_ = static_cast<uint64_t>(status.st_size);
}

InputFile::~InputFile() {
  if (fd_ >= 0) ::close(fd_);
}

void InputFile::read(uint64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t n =
        retried([&] { return ::pread(fd_, out.data(), out.size(), static_cast<off_t>(offset)); });
    if (n < 0) fail(path_.string(), "cannot read", errno);
    check<IoError>(n > 0, path_.string(), ": ends at byte ", offset, ", expected ", out.size(),
                   " bytes more: was it changed while in use?");
    offset += static_cast<uint64_t>(n);
    out = out.subspan(static_cast<size_t>(n));
  }
}

std::string InputFile::read_text(uint64_t offset, size_t size) const {
  std::string text(size, '\0');
  read(offset, std::as_writable_bytes(std::span(text)));
  return text;
}

std::string read_file(const fs::path& path, uint64_t limit) {
  const InputFile file(path);
  check<IoError>(file.size() <= limit, path.string(), ": ", file.size(),
                 " bytes, expected at most ", limit);
  return file.read_text(0, file.size());
}

LineReader::LineReader(const fs::path& path, size_t limit)
    : fd_(path == "-" ? STDIN_FILENO : open_file(path)),
      owns_(path != "-"),
      name_(path == "-" ? "stdin" : path.string()),
      limit_(limit) {}

LineReader::LineReader(int fd, std::string name, size_t limit)
    : fd_(fd), owns_(false), name_(std::move(name)), limit_(limit) {}

LineReader::~LineReader() {
  if (owns_) ::close(fd_);
}

bool LineReader::fill() {
  if (begin_ > 0) {
    buffer_.erase(0, begin_);
    scanned_ -= begin_;
    begin_ = 0;
  }
  constexpr size_t kBlock = size_t{1} << 16;
  const size_t old = buffer_.size();
  buffer_.resize(old + kBlock);
  const ssize_t n = retried([&] { return ::read(fd_, buffer_.data() + old, kBlock); });
  const int error = errno;
  buffer_.resize(old + static_cast<size_t>(n > 0 ? n : 0));
  if (n < 0) fail(name_, "cannot read", error);
  if (n == 0) end_ = true;
  return n > 0;
}

// Moves scanned_ to the first newline from begin_ on. Of a line over the limit the rest is let go
// as it comes, so that memory stays bounded.
bool LineReader::has_line() {
  const size_t newline = buffer_.find('\n', scanned_);
  scanned_ = std::min(newline, buffer_.size());
  if (newline != std::string::npos) return true;
  const size_t keep = begin_ + limit_ + 1;  // one more than the limit tells that it is over
  if (buffer_.size() > keep + 3) {
    skipping_ = true;
    buffer_.resize(keep);
    scanned_ = keep;
  }
  return end_;
}

bool LineReader::next(std::string& line) {
  while (!has_line()) fill();
  if (begin_ == buffer_.size()) return false;  // the end, and nothing left
  const bool newline = scanned_ < buffer_.size();
  std::string_view text(buffer_.data() + begin_, scanned_ - begin_);
  if (newline && !skipping_ && text.ends_with('\r')) text.remove_suffix(1);
  if (first_ && text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  first_ = false;
  too_long_ = skipping_ || text.size() > limit_;
  line.assign(text.substr(0, utf8_cut(text, limit_)));
  begin_ = scanned_ = scanned_ + (newline ? 1 : 0);
  skipping_ = false;
  ++line_;
  return true;
}

bool LineReader::ready() {
  while (!has_line()) {
    pollfd waiting = {fd_, POLLIN, 0};
    if (retried([&] { return ::poll(&waiting, 1, 0); }) <= 0) return false;
    fill();
  }
  return true;
}

AtomicFile::AtomicFile(const fs::path& path) : path_(path), fd_(-1) {
  // What is no regular file (a pipe, /dev/stdout) is written to, not replaced.
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    fd_ = static_cast<int>(retried([&] { return ::open(path.c_str(), O_WRONLY | O_CLOEXEC); }));
    if (fd_ < 0) fail(path.string(), "cannot write", errno);
    return;
  }
  for (int i = 0; fd_ < 0; ++i) {
    staged_ = concat(path.string(), ".tmp-", ::getpid(), "-", i);
    fd_ = ::open(staged_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd_ < 0 && errno != EEXIST) fail(path.string(), "cannot write", errno);
  }
}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  if (!staged_.empty()) ::unlink(staged_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  constexpr size_t kBuffer = size_t{1} << 18;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (buffer_.size() + text.size() > kBuffer) {
    put(buffer_);
    buffer_.clear();
  }
  if (text.size() > kBuffer) {
    put(text);
  } else {
    buffer_ += text;
  }
}

void AtomicFile::put(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = retried([&] { return ::write(fd_, text.data(), text.size()); });
    if (n < 0) fail(path_.string(), "cannot write", errno);
    text.remove_prefix(static_cast<size_t>(n));
  }
}

void AtomicFile::commit() {
  check(fd_ >= 0, path_.string(), ": committed twice");
  put(buffer_);
  buffer_.clear();
  const bool replaces = !staged_.empty();
  if (replaces && ::fsync(fd_) != 0) fail(path_.string(), "cannot write", errno);
  if (replaces && ::rename(staged_.c_str(), path_.c_str()) != 0) {
    fail(path_.string(), "cannot replace", errno);
  }
  ::close(std::exchange(fd_, -1));
  if (replaces) sync_directory(folder_of(path_));
}

void write_file(const fs::path& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

void sync_directory(const fs::path& path) {
  const int fd = static_cast<int>(
      retried([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (fd < 0) fail(path.string(), "cannot open", errno);
  // Some file systems cannot sync a folder (EINVAL); the rename is then as durable as they make it.
  const bool done = ::fsync(fd) == 0 || errno == EINVAL;
  const int error = errno;
  ::close(fd);
  if (!done) fail(path.string(), "cannot sync", error);
}

}  // namespace rapt

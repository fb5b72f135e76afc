// Files: bounded reading, lines from a file or from stdin, and replacement that leaves either the
// old file or the new one, whole. Every error is an IoError: the file and the system's reason.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace rapt {

namespace fs = std::filesystem;

// A regular file, open for reading at any place. Thread-safe; moves, does not copy.
class InputFile {
 public:
  explicit InputFile(const fs::path& path);  // throws IoError: missing, a directory, a pipe
  ~InputFile();
  InputFile(InputFile&& other) noexcept
      : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)), size_(other.size_) {}
  InputFile& operator=(InputFile&&) = delete;

  uint64_t size() const { return size_; }  // when it was opened
  const fs::path& path() const { return path_; }
  // Fills all of `out` from byte `offset`; a file that has shrunk meanwhile is an IoError.
  void read(uint64_t offset, std::span<std::byte> out) const;
  std::string read_text(uint64_t offset, size_t size) const;

 private:
  fs::path path_;
  int fd_;
  uint64_t size_ = 0;
};

// The whole file; a larger one than `limit` is an IoError, before anything is allocated.
std::string read_file(const fs::path& path, uint64_t limit);

// Lines of a file, a pipe or a terminal. Ends with or without a last newline; "\r\n" counts as one;
// a byte order mark at the start is skipped.
class LineReader {
 public:
  static constexpr size_t kDefaultLimit = size_t{1} << 20;
  explicit LineReader(const fs::path& path, size_t limit = kDefaultLimit);  // "-" is stdin
  LineReader(int fd, std::string name, size_t limit = kDefaultLimit);       // borrows fd
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  // False at the end. Waits for a whole line.
  bool next(std::string& line);
  // True when next() would answer at once: a whole line, or the end, is there. A program that
  // decodes what it has when nothing is ready never keeps a caller waiting for an answer.
  bool ready();
  uint64_t line() const { return line_; }            // number of the last line, from 1
  bool too_long() const { return too_long_; }        // the last line was cut to `limit` bytes
  const std::string& name() const { return name_; }  // the file, or "stdin"

 private:
  bool fill();      // one read; false at the end
  bool has_line();  // a newline is buffered, or the end was met

  int fd_;
  bool owns_;
  std::string name_;
  size_t limit_;
  std::string buffer_;
  size_t begin_ = 0, scanned_ = 0;
  bool end_ = false, too_long_ = false, skipping_ = false, first_ = true;
  uint64_t line_ = 0;
};

// A file that appears under its name only when whole: written beside it, fsync, rename, fsync of
// the folder. Without commit() (an exception, a full disk) the old file stays as it was.
class AtomicFile {
 public:
  explicit AtomicFile(const fs::path& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  void commit();

 private:
  void put(std::string_view text);
  fs::path path_, staged_;
  int fd_;
  std::string buffer_;
};

void write_file(const fs::path& path, std::string_view text);  // by AtomicFile
void sync_directory(const fs::path& path);                     // makes a rename in it durable

}  // namespace rapt

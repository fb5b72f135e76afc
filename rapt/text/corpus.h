// Texts to train on: an index of line offsets, 4 bytes a line, never the strings; lines are read
// where they lie, so a corpus may be larger than memory. Opening a corpus reads it once, with the
// threads of a pool where one is given, and checks it whole: errors come before the first update,
// not in the middle of the night.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rapt/base/file.h"
#include "rapt/parallel/pool.h"
#include "rapt/text/line_index.h"

namespace rapt {

struct CorpusOptions {
  size_t max_line_bytes = size_t{1} << 20;  // a longer line counts as a too long item
  fs::path cache =
      {};  // where a .gz is unpacked, once; empty: $XDG_CACHE_HOME/rapt or ~/.cache/rapt
};

// The plain file behind a path: itself, or the unpacked copy of a gzip file (known by its first
// bytes). The copy is found again by the file's place, size and time of change.
fs::path unpacked(const fs::path& path, const fs::path& cache = {});

// Lines by number. Valid UTF-8 (else IoError with file, line and byte); a byte order mark is skipped;
// "\r\n" counts as one; the last newline may be missing. An empty file is an IoError, and so is, when
// `columns` is not 0, a line that has not that many columns between tabs. Thread-safe.
class LineFile {
  struct Index;

 public:
  explicit LineFile(const fs::path& path, const CorpusOptions& options = {}, size_t columns = 0,
                    Pool* pool = nullptr);
  uint64_t size() const;
  std::string line(uint64_t i) const;  // i from 0; without its newline
  bool too_long(uint64_t i) const;     // over max_line_bytes
  const std::string& name() const;     // the path as given

  // Lines in any order; those from `begin` to `end` (by default all), one after another, come from
  // blocks that are read at once. Of one thread.
  class Cursor {
   public:
    explicit Cursor(const LineFile& file, uint64_t begin = 0, uint64_t end = UINT64_MAX);
    std::string_view line(uint64_t i);  // valid until the next call

   private:
    std::shared_ptr<const Index> index_;
    ReadAhead text_;
  };

 private:
  std::shared_ptr<const Index> index_;
};

// Pairs of lines, from two files of equal length or one TSV of two columns. Cheap to copy.
class ParallelCorpus {
 public:
  struct Pair {
    std::string source, target;
  };
  // One path: TSV, each line exactly one tab. Two: source, target. Throws InvalidArgument for
  // another number; IoError for a line without its tab and for files of different length.
  static ParallelCorpus open(const std::vector<fs::path>& paths, const CorpusOptions& options = {},
                             Pool* pool = nullptr);

  uint64_t size() const { return source_.size(); }
  Pair pair(uint64_t i) const;
  bool too_long(uint64_t i) const;
  std::string name() const;  // "train.tsv" or "a.en, a.de"

  // Pairs as LineFile::Cursor gives lines. Of one thread.
  class Cursor {
   public:
    struct View {
      std::string_view source, target;  // valid until the next call
    };
    explicit Cursor(const ParallelCorpus& corpus, uint64_t begin = 0, uint64_t end = UINT64_MAX);
    View pair(uint64_t i);

   private:
    LineFile::Cursor source_;
    std::optional<LineFile::Cursor> target_;  // none: TSV
  };

 private:
  ParallelCorpus(LineFile source, std::shared_ptr<const LineFile> target);
  LineFile source_;
  std::shared_ptr<const LineFile> target_;  // null: TSV
};

// One text, newlines included, in chunks: its lines, where a line of more than 1 KiB counts as
// several (cut after a space where there is one, never in a code point).
class TextStream {
  struct Index;

 public:
  struct Chunk {
    std::string text;
    bool newline;  // a newline follows
  };
  static constexpr uint64_t kMaxChunk = uint64_t{1} << 10;  // bytes
  explicit TextStream(const fs::path& path, const CorpusOptions& options = {},
                      Pool* pool = nullptr);
  uint64_t chunks() const;
  Chunk chunk(uint64_t i) const;
  uint64_t line(uint64_t chunk) const;  // from 1, for messages
  const std::string& name() const;

  // Chunks as LineFile::Cursor gives lines. Of one thread.
  class Cursor {
   public:
    struct View {
      std::string_view text;  // valid until the next call
      bool newline;
    };
    Cursor(const TextStream& stream, uint64_t begin, uint64_t end);
    View chunk(uint64_t i);

   private:
    std::shared_ptr<const Index> index_;
    ReadAhead text_;
  };

 private:
  std::shared_ptr<const Index> index_;
};

}  // namespace rapt

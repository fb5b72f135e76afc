#include "rapt/text/corpus.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "rapt/base/check.h"
#include "rapt/base/utf8.h"
#include "rapt/text/line_index.h"

namespace rapt {

struct LineFile::Index {
  std::string name;
  InputFile file;
  Offsets starts;
  size_t max_line_bytes;

  uint64_t end(uint64_t i) const { return starts[i + 1] - 1; }
};

LineFile::LineFile(const fs::path& path, const CorpusOptions& options, size_t columns, Pool* pool) {
  InputFile file(unpacked(path, options.cache));
  Offsets starts = index_lines(file, path.string(), columns, pool);
  index_ = std::make_shared<const Index>(
      Index{path.string(), std::move(file), std::move(starts), options.max_line_bytes});
}

uint64_t LineFile::size() const { return index_->starts.size() - 1; }
const std::string& LineFile::name() const { return index_->name; }
bool LineFile::too_long(uint64_t i) const {
  return index_->end(i) - index_->starts[i] > index_->max_line_bytes;
}
std::string LineFile::line(uint64_t i) const {
  return std::string(Cursor(*this, i, i + 1).line(i));
}

LineFile::Cursor::Cursor(const LineFile& file, uint64_t begin, uint64_t end)
    : index_(file.index_),
      text_(index_->file, index_->starts[std::min(begin, file.size())],
            index_->starts[std::min(end, file.size())]) {}

std::string_view LineFile::Cursor::line(uint64_t i) {
  const Index& index = *index_;
  check(i + 1 < index.starts.size(), index.name, ": line ", i + 1, " of ", index.starts.size() - 1);
  return text_.line(index.starts[i], index.end(i));
}

ParallelCorpus::ParallelCorpus(LineFile source, std::shared_ptr<const LineFile> target)
    : source_(std::move(source)), target_(std::move(target)) {}

ParallelCorpus ParallelCorpus::open(const std::vector<fs::path>& paths,
                                    const CorpusOptions& options, Pool* pool) {
  check(paths.size() == 1 || paths.size() == 2, "a corpus is one TSV or two parallel files, found ",
        paths.size(), " files");
  if (paths.size() == 1) return ParallelCorpus(LineFile(paths[0], options, 2, pool), nullptr);
  LineFile source(paths[0], options, 0, pool);
  auto target = std::make_shared<const LineFile>(paths[1], options, 0, pool);
  check<IoError>(source.size() == target->size(), source.name(), " has ", source.size(), " lines, ",
                 target->name(), " has ", target->size(),
                 ": parallel files must have equally many");
  return ParallelCorpus(std::move(source), std::move(target));
}

ParallelCorpus::Pair ParallelCorpus::pair(uint64_t i) const {
  std::string line = source_.line(i);
  if (target_ != nullptr) return {std::move(line), target_->line(i)};
  const size_t tab = line.find('\t');
  std::string target = line.substr(tab + 1);
  line.resize(tab);
  return {std::move(line), std::move(target)};
}

bool ParallelCorpus::too_long(uint64_t i) const {
  return source_.too_long(i) || (target_ != nullptr && target_->too_long(i));
}

ParallelCorpus::Cursor::Cursor(const ParallelCorpus& corpus, uint64_t begin, uint64_t end)
    : source_(corpus.source_, begin, end) {
  if (corpus.target_ != nullptr) target_.emplace(*corpus.target_, begin, end);
}

ParallelCorpus::Cursor::View ParallelCorpus::Cursor::pair(uint64_t i) {
  const std::string_view line = source_.line(i);
  if (target_) return {line, target_->line(i)};
  const size_t tab = line.find('\t');
  return {line.substr(0, tab), line.substr(tab + 1)};
}

std::string ParallelCorpus::name() const {
  return target_ == nullptr ? source_.name() : source_.name() + ", " + target_->name();
}

struct TextStream::Index {
  std::string name;
  InputFile file;
  Offsets starts;  // of chunks, as index_lines gives those of lines
  std::vector<uint64_t>
      continued;  // chunks that go on with the line of the chunk before; ascending
  bool last_newline;

  bool continues(uint64_t chunk) const {
    return std::binary_search(continued.begin(), continued.end(), chunk);
  }
};

// A place to cut within [begin, begin + kMaxChunk]: after the last space, else between code points.
static uint64_t cut_place(const InputFile& file, uint64_t begin) {
  const std::string text = file.read_text(begin, TextStream::kMaxChunk + 1);
  const size_t space = text.rfind(' ', TextStream::kMaxChunk - 1);
  return begin + (space != std::string::npos && space > 0 ? space + 1
                                                          : utf8_cut(text, TextStream::kMaxChunk));
}

TextStream::TextStream(const fs::path& path, const CorpusOptions& options, Pool* pool) {
  InputFile file(unpacked(path, options.cache));
  const Offsets lines = index_lines(file, path.string(), 0, pool);
  Offsets starts;
  std::vector<uint64_t> continued;
  const bool last_newline = lines.back() == file.size();
  for (size_t i = 0; i + 1 < lines.size(); ++i) {
    const uint64_t end = lines[i + 1] - 1;
    starts.push_back(lines[i]);
    while (end - starts.back() > kMaxChunk) {
      const uint64_t place = cut_place(file, starts.back());
      continued.push_back(starts.size());
      starts.push_back(place);
    }
  }
  starts.push_back(lines.back());
  index_ = std::make_shared<const Index>(
      Index{path.string(), std::move(file), std::move(starts), std::move(continued), last_newline});
}

uint64_t TextStream::chunks() const { return index_->starts.size() - 1; }
const std::string& TextStream::name() const { return index_->name; }

TextStream::Cursor::Cursor(const TextStream& stream, uint64_t begin, uint64_t end)
    : index_(stream.index_),
      text_(index_->file, index_->starts[std::min(begin, stream.chunks())],
            index_->starts[std::min(end, stream.chunks())]) {}

TextStream::Cursor::View TextStream::Cursor::chunk(uint64_t i) {
  const Index& index = *index_;
  const uint64_t chunks = index.starts.size() - 1;
  check(i < chunks, index.name, ": chunk ", i, " of ", chunks);
  const uint64_t begin = index.starts[i], next = index.starts[i + 1];
  if (index.continues(i + 1)) return {text_.text(begin, next), false};
  return {text_.line(begin, next - 1), i + 1 < chunks || index.last_newline};
}

TextStream::Chunk TextStream::chunk(uint64_t i) const {
  Cursor cursor(*this, i, i + 1);
  const Cursor::View view = cursor.chunk(i);
  return {std::string(view.text), view.newline};
}

uint64_t TextStream::line(uint64_t chunk) const {
  const auto& continued = index_->continued;
  const auto before =
      std::upper_bound(continued.begin(), continued.end(), chunk) - continued.begin();
  return chunk + 1 - static_cast<uint64_t>(before);
}

}  // namespace rapt

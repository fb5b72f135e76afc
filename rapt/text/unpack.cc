#include <sys/stat.h>
#include <zlib.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "rapt/base/check.h"
#include "rapt/text/corpus.h"

namespace rapt {
namespace {

bool is_gzip(const fs::path& path) {
  const InputFile file(path);
  return file.size() >= 2 && file.read_text(0, 2) == "\x1F\x8B";
}

fs::path default_cache() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache != '\0') return fs::path(cache) / "rapt";
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home != '\0') return fs::path(home) / ".cache" / "rapt";
  return fs::temp_directory_path() / "rapt-cache";
}

// The copy's name: the file's own, and FNV-1a of what tells one state of it from another.
std::string cache_name(const fs::path& path) {
  struct stat status {};
  check<IoError>(::stat(path.c_str(), &status) == 0, path.string(), ": cannot be examined");
  const std::string identity = concat(fs::absolute(path).string(), '\n', status.st_size, '\n',
                                      status.st_mtim.tv_sec, '.', status.st_mtim.tv_nsec);
  uint64_t hash = 0xCBF29CE484222325;
  for (const char c : identity) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001B3;
  char digits[17];
  std::snprintf(digits, sizeof(digits), "%016llx", static_cast<unsigned long long>(hash));
  return concat(path.stem().string(), '-', digits);
}

void unpack(const fs::path& path, const fs::path& copy) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> in(gzopen(path.c_str(), "rb"), gzclose);
  check<IoError>(in != nullptr, path.string(), ": cannot open");
  gzbuffer(in.get(), 1 << 17);
  AtomicFile out(copy);
  std::string block(size_t{1} << 18, '\0');
  int n;
  while ((n = gzread(in.get(), block.data(), static_cast<unsigned>(block.size()))) > 0) {
    out.write(std::string_view(block).substr(0, static_cast<size_t>(n)));
  }
  // A file that breaks off gives its last bytes first and the error after them.
  int error = Z_OK;
  const char* reason = gzerror(in.get(), &error);
  check<IoError>(n == 0 && error == Z_OK, path.string(), ": damaged gzip file: ", reason);
  out.commit();
}

}  // namespace

fs::path unpacked(const fs::path& path, const fs::path& cache) {
  if (!is_gzip(path)) return path;
  const fs::path folder = cache.empty() ? default_cache() : cache;
  const fs::path copy = folder / cache_name(path);
  if (fs::exists(copy)) return copy;
  std::error_code error;
  fs::create_directories(folder, error);
  check<IoError>(!error, folder.string(),
                 ": cannot make the folder for unpacked files: ", error.message());
  unpack(path, copy);
  return copy;
}

}  // namespace rapt

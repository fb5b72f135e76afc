#include "rapt/train/copy_atomically.h"

#include <algorithm>
#include <vector>

namespace rapt {

void copy_atomically(const fs::path& from, const fs::path& to) {
  const InputFile file(from);
  AtomicFile copy(to);
  std::vector<std::byte> chunk(size_t{1} << 20);
  for (uint64_t offset = 0; offset < file.size(); offset += chunk.size()) {
    chunk.resize(std::min<uint64_t>(chunk.size(), file.size() - offset));
    file.read(offset, chunk);
    copy.write(chunk);
  }
  copy.commit();
}

}  // namespace rapt

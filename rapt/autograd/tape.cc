#include "rapt/autograd/tape.h"

#include "rapt/base/check.h"

namespace rapt {

void* Tape::allocate(size_t bytes) {
  constexpr size_t kAlign = alignof(std::max_align_t);
  bytes = (bytes + kAlign - 1) / kAlign * kAlign;
  check(bytes <= kChunk, "Tape: a closure of ", bytes, " bytes is larger than a chunk");
  if (used_ + bytes > kChunk) {
    ++chunk_;
    used_ = 0;
  }
  if (chunk_ >= chunks_.size()) chunks_.push_back(std::make_unique<std::byte[]>(kChunk));
  return chunks_[chunk_].get() + std::exchange(used_, used_ + bytes);
}

}  // namespace rapt

#include "rapt/tensor/memory.h"

#include <algorithm>
#include <bit>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace rapt {
namespace {

constexpr size_t kSmallest = 64, kHugePage = size_t{2} << 20;
constexpr size_t kClasses = 8 * 48;
constexpr size_t kReach =
    8;  // a free block may be this many classes too large: up to twice the size

// Class c holds blocks of (8 + c % 8) << (c / 8 + 3) bytes: 64, 72, … 120, 128, 144, …
constexpr size_t class_bytes(size_t c) { return (8 + c % 8) << (c / 8 + 3); }
constexpr size_t class_of(size_t bytes) {
  bytes = std::max(bytes, kSmallest);
  const size_t exponent = static_cast<size_t>(std::bit_width(bytes)) - 1;  // 2^exponent <= bytes
  const size_t step = size_t{1} << (exponent - 3);
  return (exponent - 6) * 8 + (bytes - (size_t{1} << exponent) + step - 1) / step;
}
static_assert(class_of(64) == 0 && class_of(65) == 1 && class_bytes(class_of(1000)) >= 1000);

constexpr std::align_val_t kAlignment{64};

#if defined(__linux__)
// Large blocks are mapped here, in huge pages: malloc would keep what trim() gives back.
constexpr bool is_mapped(size_t bytes) { return bytes >= kHugePage; }

constexpr size_t whole_pages(size_t bytes) {
  constexpr size_t kPage = size_t{64} << 10;  // or smaller
  return (bytes + kPage - 1) / kPage * kPage;
}
void* map(size_t bytes) {
  bytes = whole_pages(bytes);
  // Not reserved: a cache is as large as it could become, and most of it is never touched.
  void* all = mmap(nullptr, bytes + kHugePage, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) throw std::bad_alloc();
  auto* begin = static_cast<std::byte*>(all);
  const size_t before = (kHugePage - reinterpret_cast<uintptr_t>(begin) % kHugePage) % kHugePage;
  if (before > 0) munmap(begin, before);
  if (before < kHugePage) munmap(begin + before + bytes, kHugePage - before);
  madvise(begin + before, bytes, MADV_HUGEPAGE);
  return begin + before;
}
void unmap(void* memory, size_t bytes) { munmap(memory, whole_pages(bytes)); }
#else
constexpr bool is_mapped(size_t) { return false; }
void* map(size_t) { return nullptr; }
void unmap(void*, size_t) {}
#endif

void* system_allocate(size_t bytes) {
  return is_mapped(bytes) ? map(bytes) : ::operator new(bytes, kAlignment);
}

void system_free(Block* block) {
  const size_t bytes = sizeof(Block) + class_bytes(block->size_class);
  block->~Block();
  if (is_mapped(bytes)) return unmap(block, bytes);
  ::operator delete(block, kAlignment);
}

}  // namespace

MemoryPool::MemoryPool() : free_(kClasses, nullptr) {}
MemoryPool::~MemoryPool() { trim(); }

MemoryPool& MemoryPool::process() {
  static MemoryPool* pool = new MemoryPool;  // never destroyed: tensors of static life may remain
  return *pool;
}

Block* MemoryPool::allocate(size_t bytes) {
  const size_t wanted = class_of(bytes);
  if (wanted >= kClasses) throw std::bad_alloc();
  const std::lock_guard lock(mutex_);
  const auto count_use = [&](size_t c) {
    stats_.bytes_in_use += class_bytes(c);
    stats_.peak_bytes_in_use = std::max(stats_.peak_bytes_in_use, stats_.bytes_in_use);
  };
  for (size_t c = wanted; c <= wanted + kReach && c < kClasses; ++c) {
    Block* block = free_[c];
    if (block == nullptr) continue;
    free_[c] = std::exchange(block->next, nullptr);
    block->references.store(1, std::memory_order_relaxed);
    count_use(c);
    return block;
  }
  auto* block = new (system_allocate(sizeof(Block) + class_bytes(wanted))) Block;
  block->size_class = static_cast<uint32_t>(wanted);
  block->pool = this;
  ++stats_.system_allocations;
  stats_.bytes += class_bytes(wanted);
  count_use(wanted);
  return block;
}

void MemoryPool::release(Block* block) {
  const std::lock_guard lock(mutex_);
  block->next = std::exchange(free_[block->size_class], block);
  stats_.bytes_in_use -= class_bytes(block->size_class);
}

void MemoryPool::trim(size_t kept) {
  const std::lock_guard lock(mutex_);
  for (size_t c = kClasses; c-- > 0;) {
    while (free_[c] != nullptr && stats_.bytes - stats_.bytes_in_use > kept) {
      Block* block = std::exchange(free_[c], free_[c]->next);
      stats_.bytes -= class_bytes(c);
      system_free(block);
    }
  }
}

MemoryPool::Stats MemoryPool::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

void MemoryPool::reset_peak() {
  const std::lock_guard lock(mutex_);
  stats_.peak_bytes_in_use = stats_.bytes_in_use;
}

void BlockRef::drop() {
  if (block_ == nullptr) return;
  if (block_->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (block_->pool != nullptr) {
    block_->pool->release(block_);
  } else {
    delete block_;
  }
}

}  // namespace rapt

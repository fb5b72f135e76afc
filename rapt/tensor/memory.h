// Memory that is asked from the system once and used again: a steady training step allocates
// nothing. Blocks come in size classes, eight to a doubling, so that ragged batches reuse them.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace rapt {

class MemoryPool;

// The header of a block; its 64-byte aligned data follow, or, for borrowed memory, an owner is
// kept.
struct alignas(64) Block {
  std::atomic<uint32_t> references{1};
  uint32_t size_class = 0;
  MemoryPool* pool = nullptr;   // null: borrowed
  Block* next = nullptr;        // in the list of free blocks
  std::shared_ptr<void> owner;  // of borrowed memory
  std::byte* data() { return reinterpret_cast<std::byte*>(this + 1); }
};

// Thread-safe. Must outlive the blocks that it gave.
class MemoryPool {
 public:
  MemoryPool();
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  static MemoryPool& process();  // the one that is used unless told otherwise

  Block* allocate(size_t bytes);  // one reference; not cleared
  void release(Block* block);     // back to its list, when the last reference has gone
  // Gives free blocks back to the system, the largest first, until only so many bytes wait.
  void trim(size_t kept = 0);

  struct Stats {
    size_t system_allocations = 0;  // blocks asked from the system so far
    size_t bytes = 0;               // held, in use or free
    size_t bytes_in_use = 0, peak_bytes_in_use = 0;
  };
  Stats stats() const;
  void reset_peak();

 private:
  mutable std::mutex mutex_;
  std::vector<Block*> free_;  // by size class
  Stats stats_;
};

// A shared handle of a block, counted.
class BlockRef {
 public:
  BlockRef() = default;
  explicit BlockRef(Block* block) : block_(block) {}  // takes over one reference
  BlockRef(const BlockRef& other) : block_(other.block_) {
    if (block_ != nullptr) block_->references.fetch_add(1, std::memory_order_relaxed);
  }
  BlockRef(BlockRef&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  BlockRef& operator=(BlockRef other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~BlockRef() { drop(); }
  Block* get() const { return block_; }
  bool unique() const {
    return block_ != nullptr && block_->references.load(std::memory_order_acquire) == 1;
  }

 private:
  void drop();
  Block* block_ = nullptr;
};

// n values of a trivial type from a pool: index arrays, tasks of a kernel. Copies share the memory.
template <class T>
class Buffer {
  static_assert(std::is_trivially_destructible_v<T>);

 public:
  Buffer() = default;
  Buffer(MemoryPool& pool, size_t n) : block_(pool.allocate(n * sizeof(T))), size_(n) {}
  T* data() const {
    return block_.get() == nullptr ? nullptr : reinterpret_cast<T*>(block_.get()->data());
  }
  size_t size() const { return size_; }
  std::span<T> span() const { return {data(), size_}; }
  T& operator[](size_t i) const { return data()[i]; }

 private:
  BlockRef block_;
  size_t size_ = 0;
};

}  // namespace rapt

// Aligned floats that grow and are kept: the memory that a pool lends to its tasks.
#pragma once
#include <cstddef>
#include <memory>
#include <new>

namespace rapt {

inline constexpr size_t kCacheLine = 64;

class ScratchBuffer {
 public:
  // At least `floats` of them, 64-byte aligned; what was there before is gone.
  float* reserve(size_t floats) {
    if (floats > size_) {
      data_.reset();  // not both at once
      size_ = 0;
      const std::align_val_t alignment{kCacheLine};
      data_.reset(static_cast<float*>(::operator new[](floats * sizeof(float), alignment)));
      size_ = floats;
    }
    return data_.get();
  }

 private:
  struct Free {
    void operator()(float* p) const { ::operator delete[](p, std::align_val_t{kCacheLine}); }
  };
  std::unique_ptr<float, Free> data_;
  size_t size_ = 0;
};

}  // namespace rapt

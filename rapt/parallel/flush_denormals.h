// The mode in which denormal numbers are read and written as zero: numbers below 2^-126 carry no
// information in training, and on most CPUs they cost a hundred cycles each. It is a state of the
// thread, so a result has the same bits on every thread only if all of them agree on it.
#pragma once
#include <cstdint>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace rapt {

// On while the object lives; then as before.
class FlushDenormals {
 public:
  FlushDenormals() : before_(control()) {
    if ((before_ & kFlush) != kFlush) set_control(before_ | kFlush);
  }
  ~FlushDenormals() {
    if ((before_ & kFlush) != kFlush) set_control(before_);
  }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
#if defined(__x86_64__)
  static constexpr uint64_t kFlush = 0x8040;  // results (FTZ) and operands (DAZ)
  static uint64_t control() { return _mm_getcsr(); }
  static void set_control(uint64_t bits) { _mm_setcsr(static_cast<unsigned>(bits)); }
#elif defined(__aarch64__)
  static constexpr uint64_t kFlush = uint64_t{1} << 24;  // FPCR.FZ: both
  static uint64_t control() { return __builtin_aarch64_get_fpcr(); }
  static void set_control(uint64_t bits) {
    __builtin_aarch64_set_fpcr(static_cast<unsigned>(bits));
  }
#else
  static constexpr uint64_t kFlush = 0;
  static uint64_t control() { return 0; }
  static void set_control(uint64_t) {}
#endif

  uint64_t before_;
};

}  // namespace rapt

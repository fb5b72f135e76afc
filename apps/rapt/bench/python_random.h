// The generator behind Python's random.Random(n) for a small integer n (Mersenne Twister; Matsumoto
// and Nishimura, 1998), as far as shuffle() needs it.
#pragma once
#include <array>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

namespace rapt::app::bench {

class PythonRandom {
 public:
  explicit PythonRandom(uint32_t seed) {  // init_by_array({seed})
    state_[0] = 19650218;
    for (uint32_t i = 1; i < kSize; ++i) state_[i] = 1812433253 * mixed(i - 1) + i;
    uint32_t i = 1;
    const auto step = [&](uint32_t factor, uint32_t add) {
      state_[i] = (state_[i] ^ mixed(i - 1) * factor) + add;
      if (++i == kSize) {
        state_[0] = state_[kSize - 1];
        i = 1;
      }
    };
    for (uint32_t k = 0; k < kSize; ++k) step(1664525, seed);
    for (uint32_t k = 1; k < kSize; ++k) step(1566083941, 0 - i);
    state_[0] = 0x80000000;
  }

  // Uniform below n: as many bits as n has, drawn again until they are below.
  uint32_t below(uint32_t n) {
    const int bits = std::bit_width(n);
    for (;;) {
      const uint32_t r = next() >> (32 - bits);
      if (r < n) return r;
    }
  }

  template <class T>
  void shuffle(std::vector<T>& x) {
    for (size_t i = x.size(); i-- > 1;) {
      std::swap(x[i], x[below(static_cast<uint32_t>(i + 1))]);
    }
  }

 private:
  static constexpr uint32_t kSize = 624, kShift = 397;

  uint32_t mixed(uint32_t i) const { return state_[i] ^ state_[i] >> 30; }

  uint32_t next() {
    if (used_ == kSize) {
      for (uint32_t i = 0; i < kSize; ++i) {
        const uint32_t y = (state_[i] & 0x80000000) | (state_[(i + 1) % kSize] & 0x7FFFFFFF);
        state_[i] = state_[(i + kShift) % kSize] ^ y >> 1 ^ (y & 1) * 0x9908B0DF;
      }
      used_ = 0;
    }
    uint32_t y = state_[used_++];
    y ^= y >> 11;
    y ^= y << 7 & 0x9D2C5680;
    y ^= y << 15 & 0xEFC60000;
    return y ^ y >> 18;
  }

  std::array<uint32_t, kSize> state_;
  uint32_t used_ = kSize;
};

}  // namespace rapt::app::bench

// Random numbers for initial weights and for sampling: pure functions of a key and a counter, from
// Philox and scalar_math, so the same bits on every machine, for any number of threads.
#pragma once
#include <cstdint>
#include <span>

#include "rapt/base/philox.h"

namespace rapt {

// 64 bits to the open interval (0, 1): (n + 1/2) / 2^52 with n the upper 52 bits, which is exact.
constexpr double unit_interval(uint32_t high, uint32_t low) {
  const uint64_t n = (uint64_t{high} << 32 | low) >> 12;
  return (static_cast<double>(n) + 0.5) * 0x1p-52;
}

// Uniform in (0, 1), for a counter that names what is drawn, as {source hash, sample, position}.
constexpr double uniform(uint64_t key, PhiloxBlock counter) {
  const PhiloxBlock b = philox(counter, key);
  return unit_interval(b[0], b[1]);
}

// Element `index` of the uniform sequence of a key; two elements share one Philox call.
constexpr double uniform(uint64_t key, uint64_t index) {
  const uint64_t block = index / 2;
  const PhiloxBlock b =
      philox({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), 0, 0}, key);
  return index % 2 == 0 ? unit_interval(b[0], b[1]) : unit_interval(b[2], b[3]);
}

// Element `index` of the standard normal sequence of a key, by Box and Muller (1958): elements 2i
// and 2i + 1 are sqrt(-2 ln u) times cos and sin of 2 pi v, with u, v = uniform(key, 2i), (2i + 1).
double normal(uint64_t key, uint64_t index);

// out[i] = low + (high - low) uniform(key, first + i), rounded once to float. A tensor may be
// filled in pieces.
void fill_uniform(std::span<float> out, uint64_t key, double low, double high, uint64_t first = 0);

// out[i] = mean + sigma normal(key, first + i), rounded once to float.
void fill_normal(std::span<float> out, uint64_t key, double mean, double sigma, uint64_t first = 0);

// Glorot and Bengio (2010): uniform within gain sqrt(6 / (fan_in + fan_out)), so that the variance
// is gain^2 2 / (fan_in + fan_out). torch.nn.init.xavier_uniform_ has the same bound.
double xavier_bound(uint64_t fan_in, uint64_t fan_out, double gain = 1);
void fill_xavier(std::span<float> out, uint64_t key, uint64_t fan_in, uint64_t fan_out,
                 double gain = 1, uint64_t first = 0);

}  // namespace rapt

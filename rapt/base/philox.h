// Counter-based random bits: Philox4x32-10 (Salmon et al., "Parallel Random Numbers: As Easy as
// 1, 2, 3", SC 2011). A draw is a pure function of what it is for, so threads, batches, restarts
// and recomputation in the backward pass all meet the same bits.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "rapt/base/lengths.h"

namespace rapt {

inline constexpr uint32_t kPhiloxM0 = 0xD2511F53, kPhiloxM1 = 0xCD9E8D57;
inline constexpr uint32_t kPhiloxW0 = 0x9E3779B9, kPhiloxW1 = 0xBB67AE85;
inline constexpr int kPhiloxRounds = 10;

using PhiloxBlock = std::array<uint32_t, 4>;

constexpr PhiloxBlock philox(PhiloxBlock c, uint64_t key) {
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < kPhiloxRounds; ++round, k0 += kPhiloxW0, k1 += kPhiloxW1) {
    const uint64_t p0 = uint64_t{kPhiloxM0} * c[0], p1 = uint64_t{kPhiloxM1} * c[2];
    c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<uint32_t>(p0)};
  }
  return c;
}

// What the bits are for. Streams never share a key.
enum class Stream : uint32_t { kDropout, kInit, kShuffle, kSample };

// FNV-1a of a module's full name: the site of its random bits.
constexpr uint32_t site_of(std::string_view name) {
  uint32_t hash = 0x811C9DC5;
  for (const char c : name) hash = (hash ^ static_cast<uint8_t>(c)) * 0x01000193;
  return hash;
}

// The key of one operation: one Philox call on (stream, site, update) under the seed.
constexpr uint64_t op_key(uint64_t seed, Stream stream, uint32_t site, uint64_t update) {
  const PhiloxBlock b = philox({static_cast<uint32_t>(update), static_cast<uint32_t>(update >> 32),
                                site, static_cast<uint32_t>(stream)},
                               seed);
  return uint64_t{b[1]} << 32 | b[0];
}

// The counter of eight neighbouring 16-bit draws: columns 8g … 8g + 7 of a row, or, in attention,
// keys 8g … 8g + 7 of one query and head (head is 0 elsewhere).
constexpr PhiloxBlock draw_counter(uint32_t group, RowKey row, uint32_t head = 0) {
  return {group, row.position, static_cast<uint32_t>(row.id),
          static_cast<uint32_t>(row.id >> 32) << 16 | head};
}

// Draw `column` of a row, as a signed 16-bit number: one signed comparison decides.
constexpr int16_t draw16(uint64_t key, RowKey row, uint32_t column, uint32_t head = 0) {
  const uint32_t word = philox(draw_counter(column / 8, row, head), key)[column % 8 / 2];
  return static_cast<int16_t>(column % 2 == 0 ? word & 0xffff : word >> 16);
}

// A probability as n / 65536: dropped when draw < n - 32768; kept values are scaled to keep the
// mean.
struct DropRate {
  uint32_t n = 0;  // < 65536; 0 turns dropout off
  static constexpr DropRate of(double p) { return {static_cast<uint32_t>(p * 65536.0 + 0.5)}; }
  constexpr bool on() const { return n != 0; }
  constexpr float scale() const { return 65536.0f / static_cast<float>(65536 - n); }
  constexpr bool keeps(int16_t draw) const { return draw >= static_cast<int32_t>(n) - 32768; }
};

}  // namespace rapt

// SHA-256 (FIPS 180-4): the checksum of checkpoint files, as the command sha256sum prints it.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "rapt/base/file.h"

namespace rapt {

class Sha256 {
 public:
  void update(std::span<const std::byte> bytes);
  std::string hex();  // 64 digits; ends the sum

 private:
  void block(const std::byte* bytes);  // of 64 bytes

  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, 64> buffer_;
  uint64_t size_ = 0;
};

std::string sha256_of_file(const fs::path& path);  // throws IoError

}  // namespace rapt

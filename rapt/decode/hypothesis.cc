#include "rapt/decode/hypothesis.h"

#include <algorithm>

#include "rapt/base/philox.h"
#include "rapt/base/scalar_math.h"

namespace rapt {
namespace {

// Each id passes through Philox with what came before it as the key.
uint64_t mixed(uint64_t hash, std::span<const int32_t> ids) {
  for (const int32_t id : ids) {
    const PhiloxBlock block = philox({static_cast<uint32_t>(id), 0, 0, 0}, hash);
    hash = uint64_t{block[1]} << 32 | block[0];
  }
  return hash;
}
constexpr uint64_t kMask = (uint64_t{1} << 48) - 1;

}  // namespace

uint64_t hash_of(std::span<const int32_t> ids) { return mixed(ids.size(), ids) & kMask; }

uint64_t id_of(const Sentence& sentence) {
  return mixed(mixed(sentence.source.size(), sentence.source), sentence.prefix) & kMask;
}

double length_normalized(double log_probability, size_t length, double penalty) {
  if (penalty == 0) return log_probability;
  return log_probability / scalar::pow(static_cast<double>(std::max<size_t>(1, length)), penalty);
}

}  // namespace rapt

// Which symbols a search may produce.
#pragma once
#include <cstdint>
#include <vector>

#include "rapt/decode/options.h"
#include "rapt/text/text_processor.h"

namespace rapt {

class VocabularyFilter {
 public:
  VocabularyFilter(const TextSide& target, const DecodeOptions& options);
  bool allows(int32_t id) const { return allowed_[static_cast<size_t>(id)] != 0; }
  int32_t eos() const { return eos_; }
  int32_t decoder_start() const { return decoder_start_; }

 private:
  std::vector<uint8_t> allowed_;
  int32_t eos_, decoder_start_;
};

}  // namespace rapt

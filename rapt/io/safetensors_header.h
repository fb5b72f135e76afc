// The checks of a safetensors header, apart from files, so that they can be tried on any bytes.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "rapt/io/safetensors.h"

namespace rapt {

struct SafetensorsHeader {
  std::vector<StoredTensor> tensors;  // by name
  Metadata metadata;
};

// Checks that the header describes exactly `data_bytes` bytes of values. Allocates for what the
// header says in text, never for what its numbers say. Throws IoError that starts with `file`.
SafetensorsHeader parse_safetensors_header(std::string_view header, uint64_t data_bytes,
                                           std::string_view file);

// 1 … 512 bytes of UTF-8, no control characters, not "__metadata__".
void check_tensor_name(std::string_view name, std::string_view file);

}  // namespace rapt

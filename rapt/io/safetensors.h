// The safetensors format, version of 2026: eight bytes of header length, a JSON header, the values.
//   header  {"__metadata__": {text: text}, NAME: {"dtype": "F32", "shape": [2, 3],
//           "data_offsets": [begin, end]}, …}, offsets from the end of the header
//   values  row-major, little-endian, without a hole, an overlap or a byte too much
// Every file is taken for hostile: all of the header is checked, with sums and products that cannot
// wrap, before memory is allocated for values. Every error is an IoError that names the file.
#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rapt/base/file.h"
#include "rapt/tensor/tensor.h"

namespace rapt {

using TensorMap = std::map<std::string, Tensor, std::less<>>;
using Metadata = std::map<std::string, std::string, std::less<>>;

struct StoredTensor {
  std::string name;   // 1 … 512 bytes of UTF-8 without control characters
  std::string dtype;  // one of the format's 22
  std::vector<uint64_t> shape;
  uint64_t begin = 0, end = 0;  // bytes, from the first after the header

  std::string describe() const;  // "F32 [2, 3]"
};

class SafetensorsFile {
 public:
  static constexpr uint64_t kMaxHeader = 100'000'000;  // as in the reference
  static constexpr size_t kMaxTensors = size_t{1} << 17, kMaxRank = 8, kMaxName = 512;

  explicit SafetensorsFile(const fs::path& path);  // reads and checks the header

  const std::vector<StoredTensor>& tensors() const { return tensors_; }  // by name
  const Metadata& metadata() const { return metadata_; }
  const StoredTensor* find(std::string_view name) const;  // null: not there
  // The values as float32: F32 as they are, F16, BF16 and F64 converted. Another dtype, or a rank
  // over Shape::kMaxRank, is unsupported (IoError), not damaged.
  Tensor read(const StoredTensor& tensor, MemoryPool& pool = MemoryPool::process()) const;
  const fs::path& path() const { return file_.path(); }

 private:
  InputFile file_;
  uint64_t data_ = 0;  // where values start
  std::vector<StoredTensor> tensors_;
  Metadata metadata_;
};

// All tensors of a file.
TensorMap read_safetensors(const fs::path& path, MemoryPool& pool = MemoryPool::process());

// Replaces the file atomically. Tensors in the order of their names, the header padded with spaces
// to a multiple of eight; {"format": "pt"} is always in the metadata, since readers of others look
// for it. The same tensors give the same bytes.
void write_safetensors(const fs::path& path, const TensorMap& tensors,
                       const Metadata& metadata = {});

}  // namespace rapt

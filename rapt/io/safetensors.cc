#include "rapt/io/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>

#include "rapt/base/check.h"
#include "rapt/base/utf8.h"
#include "rapt/io/safetensors_header.h"

namespace rapt {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors values are little-endian");

float half_to_float(uint16_t h) {
  const uint32_t sign = uint32_t{h} >> 15 << 31, exponent = h >> 10 & 31, fraction = h & 1023;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000 | fraction << 13);
  if (exponent == 0) {  // zero and denormals: fraction * 2^-24, exact in float32
    const float value = static_cast<float>(fraction) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(value));
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
}

// Reads in blocks, so that a converted tensor needs little memory beside its own.
template <class Stored, class F>
void read_converted(const InputFile& file, uint64_t offset, std::span<float> out,
                    const F& convert) {
  std::vector<Stored> block(std::min<size_t>(out.size(), size_t{1} << 16));
  while (!out.empty()) {
    const size_t n = std::min(block.size(), out.size());
    file.read(offset, std::as_writable_bytes(std::span(block).first(n)));
    std::transform(block.begin(), block.begin() + static_cast<ptrdiff_t>(n), out.begin(), convert);
    offset += n * sizeof(Stored);
    out = out.subspan(n);
  }
}

Shape shape_of(const StoredTensor& tensor, const fs::path& path) {
  check<IoError>(tensor.shape.size() <= Shape::kMaxRank, path.string(), ": ", tensor.name, ": ",
                 tensor.describe(), " is unsupported, expected a rank of at most ",
                 Shape::kMaxRank);
  const auto& s = tensor.shape;
  switch (s.size()) {
    case 0:
      return {};
    case 1:
      return {s[0]};
    case 2:
      return {s[0], s[1]};
    case 3:
      return {s[0], s[1], s[2]};
    default:
      return {s[0], s[1], s[2], s[3]};
  }
}

void append_entry(std::string& header, std::string_view name, const Tensor& tensor,
                  uint64_t begin) {
  header += concat(',', nlohmann::json(name).dump(), ":{\"dtype\":\"F32\",\"shape\":[");
  for (size_t axis = 0; axis < tensor.shape().rank(); ++axis) {
    header += concat(axis == 0 ? "" : ",", tensor.shape()[axis]);
  }
  header += concat("],\"data_offsets\":[", begin, ',', begin + tensor.size() * sizeof(float), "]}");
}

}  // namespace

std::string StoredTensor::describe() const {
  std::string text = dtype + " [";
  for (size_t axis = 0; axis < shape.size(); ++axis)
    text += concat(axis == 0 ? "" : ", ", shape[axis]);
  return text + "]";
}

SafetensorsFile::SafetensorsFile(const fs::path& path) : file_(path) {
  const std::string name = path.string();
  const uint64_t size = file_.size();
  check<IoError>(size >= 10, name, ": ", size, " bytes, too short for a safetensors file");
  uint64_t length = 0;
  file_.read(0, std::as_writable_bytes(std::span(&length, 1)));
  check<IoError>(length >= 2 && length <= kMaxHeader, name, ": header of ", length,
                 " bytes, expected 2 to ", kMaxHeader, ": is it a safetensors file?");
  check<IoError>(length <= size - 8, name, ": the file is ", size, " bytes, its header declares ",
                 length, ": incomplete download or copy?");
  data_ = 8 + length;
  SafetensorsHeader header =
      parse_safetensors_header(file_.read_text(8, length), size - data_, name);
  tensors_ = std::move(header.tensors);
  metadata_ = std::move(header.metadata);
}

const StoredTensor* SafetensorsFile::find(std::string_view name) const {
  const auto at =
      std::lower_bound(tensors_.begin(), tensors_.end(), name,
                       [](const StoredTensor& t, std::string_view n) { return t.name < n; });
  return at != tensors_.end() && at->name == name ? &*at : nullptr;
}

Tensor SafetensorsFile::read(const StoredTensor& tensor, MemoryPool& pool) const {
  const Shape shape = shape_of(tensor, path());
  const bool supported = tensor.dtype == "F32" || tensor.dtype == "F16" || tensor.dtype == "BF16" ||
                         tensor.dtype == "F64";
  check<IoError>(supported, path().string(), ": ", tensor.name, ": dtype ", tensor.dtype,
                 " is unsupported, expected F32, F16, BF16 or F64");
  const Tensor result(pool, shape);
  const std::span<float> out = result.host();
  const uint64_t offset = data_ + tensor.begin;
  if (tensor.dtype == "F32") {
    file_.read(offset, std::as_writable_bytes(out));
  } else if (tensor.dtype == "F16") {
    read_converted<uint16_t>(file_, offset, out, half_to_float);
  } else if (tensor.dtype == "BF16") {
    read_converted<uint16_t>(file_, offset, out,
                             [](uint16_t b) { return std::bit_cast<float>(uint32_t{b} << 16); });
  } else {
    read_converted<double>(file_, offset, out, [](double x) { return static_cast<float>(x); });
  }
  return result;
}

TensorMap read_safetensors(const fs::path& path, MemoryPool& pool) {
  const SafetensorsFile file(path);
  TensorMap tensors;
  for (const StoredTensor& stored : file.tensors()) {
    tensors.emplace(stored.name, file.read(stored, pool));
  }
  return tensors;
}

void write_safetensors(const fs::path& path, const TensorMap& tensors, const Metadata& metadata) {
  Metadata all = metadata;
  all.emplace("format", "pt");
  std::string header = concat("{\"__metadata__\":", nlohmann::json(all).dump());
  uint64_t offset = 0;
  for (const auto& [name, tensor] : tensors) {
    check_tensor_name(name, path.string());
    check(!tensor.empty(), path.string(), ": tensor ", name, " has no values");
    append_entry(header, name, tensor, offset);
    offset += tensor.size() * sizeof(float);
  }
  header += '}';
  header.resize((header.size() + 7) / 8 * 8, ' ');
  check<IoError>(header.size() <= SafetensorsFile::kMaxHeader, path.string(), ": header of ",
                 header.size(), " bytes, expected at most ", SafetensorsFile::kMaxHeader);

  AtomicFile file(path);
  const uint64_t length = header.size();
  file.write(std::as_bytes(std::span(&length, 1)));
  file.write(header);
  for (const auto& [name, tensor] : tensors) file.write(std::as_bytes(tensor.host()));
  file.commit();
}

}  // namespace rapt

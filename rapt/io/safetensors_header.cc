#include "rapt/io/safetensors_header.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "rapt/base/check.h"
#include "rapt/base/utf8.h"

namespace rapt {
namespace {

constexpr std::string_view kMetadata = "__metadata__";

constexpr std::array<std::pair<std::string_view, uint64_t>, 22> kBits = {{
    {"BOOL", 8},        {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U8", 8},
    {"I8", 8},          {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8},
    {"F8_E5M2FNUZ", 8}, {"I16", 16},    {"U16", 16},    {"F16", 16},    {"BF16", 16},
    {"I32", 32},        {"U32", 32},    {"F32", 32},    {"C64", 64},    {"F64", 64},
    {"I64", 64},        {"U64", 64},
}};

uint64_t bits_of(std::string_view dtype) {
  for (const auto& [name, bits] : kBits) {
    if (name == dtype) return bits;
  }
  return 0;
}

// Takes the header event by event and never builds a document: a header of 100 MB stays cheap.
//   depth 1: the object of tensors; 2: an entry or the metadata; 3: shape or data_offsets
class Parser : public nlohmann::json_sax<nlohmann::json> {
 public:
  SafetensorsHeader take() { return std::move(header_); }
  const std::string& error() const { return error_; }

  bool null() override { return depth_ == 1 && key_ == kMetadata ? true : refuse("null"); }
  bool boolean(bool) override { return refuse("true or false"); }
  bool number_integer(int64_t) override { return refuse("a negative number"); }
  bool number_float(double, const std::string&) override {
    return refuse("a number with fraction or exponent, or above 2^64");
  }
  bool number_unsigned(uint64_t value) override {
    if (depth_ != 3) return refuse("a number");
    if (field_ == "shape") {
      if (tensor().shape.size() == SafetensorsFile::kMaxRank) {
        return stop(concat("a rank over ", SafetensorsFile::kMaxRank));
      }
      tensor().shape.push_back(value);
      return true;
    }
    if (offsets_ == 2) return stop("data_offsets must be two numbers");
    (offsets_++ == 0 ? tensor().begin : tensor().end) = value;
    return true;
  }
  bool string(std::string& value) override {
    if (depth_ == 2 && in_metadata_) {
      if (!header_.metadata.emplace(field_, std::move(value)).second) return repeated(field_);
      return true;
    }
    if (depth_ != 2 || field_ != "dtype") return refuse("a string");
    tensor().dtype = std::move(value);
    return true;
  }
  bool binary(nlohmann::json::binary_t&) override { return refuse("binary"); }

  bool start_object(size_t) override {
    if (depth_ == 1 && key_ == kMetadata) {
      in_metadata_ = true;
    } else if (depth_ == 1) {
      if (header_.tensors.size() == SafetensorsFile::kMaxTensors) {
        return stop(concat("more than ", SafetensorsFile::kMaxTensors, " tensors"));
      }
      header_.tensors.emplace_back().name = key_;
      seen_ = 0;
    } else if (depth_ > 1) {
      return refuse("an object");
    }
    ++depth_;
    return true;
  }
  bool key(std::string& name) override {
    if (depth_ == 1) {
      if (name == kMetadata && std::exchange(saw_metadata_, true)) return repeated(kMetadata);
      key_ = std::move(name);
      return true;
    }
    field_ = std::move(name);
    if (in_metadata_) return true;
    const unsigned bit = field_ == "dtype"          ? 1
                         : field_ == "shape"        ? 2
                         : field_ == "data_offsets" ? 4
                                                    : 0;
    if (bit == 0) return stop("unknown field \"" + printable(field_, 40) + '"');
    if ((seen_ & bit) != 0) return repeated(field_);
    seen_ |= bit;
    return true;
  }
  bool end_object() override {
    if (--depth_ == 1 && !std::exchange(in_metadata_, false) && seen_ != 7) {
      return stop("dtype, shape or data_offsets is missing");
    }
    return true;
  }
  bool start_array(size_t) override {
    if (depth_ != 2 || in_metadata_ || field_ == "dtype") return refuse("an array");
    offsets_ = 0;
    ++depth_;
    return true;
  }
  bool end_array() override {
    --depth_;
    return field_ != "data_offsets" || offsets_ == 2 || stop("data_offsets must be two numbers");
  }
  bool parse_error(size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    error_ = concat("header: invalid JSON at byte ", position);
    return false;
  }

 private:
  StoredTensor& tensor() { return header_.tensors.back(); }
  bool stop(const std::string& what) {
    const bool inside = depth_ >= 1 && !key_.empty();
    error_ = inside ? concat(printable(key_, 80), ": ", what) : what;
    return false;
  }
  bool refuse(std::string_view found) {
    if (depth_ == 0) return stop(concat("header: expected an object, found ", found));
    return stop(concat("unexpected ", found, depth_ > 1 ? " in " : "",
                       depth_ > 1 ? printable(field_, 40) : ""));
  }
  bool repeated(std::string_view name) {
    return stop("repeated key \"" + printable(name, 80) + '"');
  }

  SafetensorsHeader header_;
  int depth_ = 0, offsets_ = 0;
  unsigned seen_ = 0;
  bool in_metadata_ = false, saw_metadata_ = false;
  std::string key_, field_, error_;
};

// The bytes that dtype and shape need. Products are checked from left to right, so they never wrap.
uint64_t checked_bytes(const StoredTensor& tensor, std::string_view file) {
  const uint64_t bits = bits_of(tensor.dtype);
  check<IoError>(bits != 0, file, ": ", tensor.name, ": dtype \"", printable(tensor.dtype, 40),
                 "\" is unsupported");
  uint64_t product = 1;
  bool fits = true;
  for (const uint64_t size : tensor.shape) fits &= !__builtin_mul_overflow(product, size, &product);
  fits &= !__builtin_mul_overflow(product, bits, &product);
  check<IoError>(fits, file, ": ", tensor.name, ": ", tensor.describe(), " overflows 64 bits");
  check<IoError>(product % 8 == 0, file, ": ", tensor.name, ": ", tensor.describe(),
                 " does not fill whole bytes");
  return product / 8;
}

// In the order of their offsets, tensors must follow one another from 0 to the end.
void check_coverage(const std::vector<StoredTensor>& tensors, uint64_t data_bytes,
                    std::string_view file) {
  std::vector<const StoredTensor*> order;
  order.reserve(tensors.size());
  for (const StoredTensor& tensor : tensors) order.push_back(&tensor);
  std::sort(order.begin(), order.end(), [](const StoredTensor* a, const StoredTensor* b) {
    return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
  });
  uint64_t end = 0;
  for (const StoredTensor* tensor : order) {
    check<IoError>(tensor->begin == end, file, ": ", tensor->name, ": values start at byte ",
                   tensor->begin, ", expected ", end, ", where the tensor before it ends");
    end = tensor->end;
  }
  check<IoError>(
      end == data_bytes, file, ": holds ", data_bytes, " bytes of values, its header declares ",
      end, end > data_bytes ? ": incomplete download or copy?" : ": bytes too many at the end");
}

}  // namespace

void check_tensor_name(std::string_view name, std::string_view file) {
  check<IoError>(!name.empty() && name.size() <= SafetensorsFile::kMaxName && name != kMetadata,
                 file, ": tensor name \"", printable(name, 80), "\": expected 1 to ",
                 SafetensorsFile::kMaxName, " bytes and not ", kMetadata);
  check_utf8(name, file, 0);
  const bool clean = std::none_of(
      name.begin(), name.end(), [](char c) { return static_cast<uint8_t>(c) < 0x20 || c == 0x7F; });
  check<IoError>(clean, file, ": tensor name \"", printable(name, 80),
                 "\" has a control character");
}

SafetensorsHeader parse_safetensors_header(std::string_view header, uint64_t data_bytes,
                                           std::string_view file) {
  const size_t first = header.find_first_not_of(" \t\r\n");
  check<IoError>(first != std::string_view::npos && header[first] == '{', file,
                 ": the header does not start with '{': is it a safetensors file?");
  check_utf8(header, file, 0);
  // The parser takes a NUL for the end of the text.
  check<IoError>(header.find('\0') == std::string_view::npos, file, ": NUL byte in the header");
  Parser parser;
  if (!nlohmann::json::sax_parse(header.begin(), header.end(), &parser)) {
    throw IoError(concat(file, ": ", parser.error()));
  }
  SafetensorsHeader result = parser.take();
  for (const StoredTensor& tensor : result.tensors) {
    check_tensor_name(tensor.name, file);
    const uint64_t bytes = checked_bytes(tensor, file);
    check<IoError>(tensor.begin <= tensor.end && tensor.end - tensor.begin == bytes, file, ": ",
                   tensor.name, ": ", tensor.describe(), " needs ", bytes,
                   " bytes, data_offsets are [", tensor.begin, ", ", tensor.end, "]");
  }
  check_coverage(result.tensors, data_bytes, file);
  std::sort(result.tensors.begin(), result.tensors.end(),
            [](const StoredTensor& a, const StoredTensor& b) { return a.name < b.name; });
  const auto twice =
      std::adjacent_find(result.tensors.begin(), result.tensors.end(),
                         [](const auto& a, const auto& b) { return a.name == b.name; });
  check<IoError>(twice == result.tensors.end(), file, ": tensor \"",
                 twice == result.tensors.end() ? "" : twice->name, "\" occurs twice");
  return result;
}

}  // namespace rapt

#include "rapt/text/sentencepiece_check.h"

#include <cmath>
#include <cstdint>
#include <cstring>

#include "rapt/base/check.h"
#include "rapt/base/utf8.h"

namespace rapt {
namespace {

// Fields of sentencepiece_model.proto.
constexpr uint32_t kPieces = 1, kNormalizer = 3, kDenormalizer = 5;  // of ModelProto
constexpr uint32_t kPiece = 1, kScore = 2, kType = 3;                // of SentencePiece
constexpr uint32_t kCharsMap = 2;                                    // of NormalizerSpec
constexpr uint64_t kUnknown = 2, kByte = 6;                          // SentencePiece.Type, 1 … 6

enum WireType : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct Field {
  uint32_t number = 0, wire = 0;
  uint64_t value = 0;      // varint, fixed32 and fixed64
  std::string_view bytes;  // kBytes
};

class Message {
 public:
  Message(std::string_view bytes, std::string_view name) : bytes_(bytes), name_(name) {}

  bool next(Field& field) {
    if (bytes_.empty()) return false;
    const uint64_t tag = varint();
    field = Field{static_cast<uint32_t>(tag >> 3), static_cast<uint32_t>(tag & 7), 0, {}};
    require(tag >> 32 == 0 && field.number != 0);
    switch (field.wire) {
      case kVarint:
        field.value = varint();
        break;
      case kFixed64:
        field.value = fixed(8);
        break;
      case kFixed32:
        field.value = fixed(4);
        break;
      case kBytes:
        field.bytes = take(varint());
        break;
      default:
        require(false);
    }
    return true;
  }

 private:
  void require(bool ok) const {
    check<IoError>(ok, name_, ": not a SentencePiece model, or damaged");
  }
  std::string_view take(uint64_t size) {
    require(size <= bytes_.size());
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return taken;
  }
  uint64_t fixed(size_t size) {
    uint64_t value = 0;
    std::memcpy(&value, take(size).data(), size);
    return value;
  }
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const uint64_t b = static_cast<uint8_t>(take(1)[0]);
      value |= (b & 127) << shift;
      if (b < 128) return value;
    }
    require(false);
    return 0;
  }

  std::string_view bytes_, name_;
};

// u32 size of the trie, the trie (a double array of u32 units), replacement strings. From unit i, the
// search steps to (i ^ offset) ^ byte; a leaf holds a place among the strings.
void check_chars_map(std::string_view map, std::string_view name) {
  if (map.empty()) return;
  const auto require = [&](bool ok) {
    check<IoError>(ok, name, ": damaged normalisation map in a SentencePiece model");
  };
  require(map.size() > 8);
  uint32_t trie_bytes = 0;
  std::memcpy(&trie_bytes, map.data(), 4);
  require(trie_bytes % 4 == 0 && trie_bytes > 0 && trie_bytes < map.size() - 4);
  const std::string_view strings = map.substr(4 + trie_bytes);
  require(strings.back() == '\0');
  const uint64_t units = trie_bytes / 4;
  for (uint64_t i = 0; i < units; ++i) {
    uint32_t unit = 0;
    std::memcpy(&unit, map.data() + 4 + 4 * i, 4);
    if (unit >> 31 != 0) {
      require((unit & 0x7FFFFFFF) < strings.size());
    } else {
      const uint64_t target = i ^ (uint64_t{unit >> 10} << ((unit & 512) >> 6));
      require((target | 255) < units);
    }
  }
}

void check_normalizer(std::string_view spec, std::string_view name) {
  Message message(spec, name);
  for (Field field; message.next(field);) {
    if (field.number == kCharsMap && field.wire == kBytes) check_chars_map(field.bytes, name);
  }
}

uint64_t check_piece(std::string_view piece, std::string_view name) {
  Message message(piece, name);
  uint64_t type = 1;
  for (Field field; message.next(field);) {
    if (field.number == kType && field.wire == kVarint) type = field.value;
    if (field.number == kPiece && field.wire == kBytes) {
      check<IoError>(!field.bytes.empty() && field.bytes.size() <= 4096, name, ": a piece of ",
                     field.bytes.size(), " bytes, expected 1 to 4096");
      check_utf8(field.bytes, name, 0);
    }
    if (field.number == kScore && field.wire == kFixed32) {
      float score = 0;
      std::memcpy(&score, &field.value, sizeof(score));
      check<IoError>(std::isfinite(score), name, ": a piece with a score that is not finite");
    }
  }
  check<IoError>(type >= 1 && type <= kByte, name, ": a piece of type ", type, ", expected 1 to ",
                 kByte);
  return type;
}

}  // namespace

void check_sentencepiece_model(std::string_view model, std::string_view name) {
  constexpr size_t kMaxBytes = size_t{64} << 20, kMaxPieces = size_t{1} << 20;
  check<IoError>(model.size() <= kMaxBytes, name, ": ", model.size(), " bytes, expected at most ",
                 kMaxBytes);
  size_t pieces = 0, unknown = 0, byte_pieces = 0;
  Message message(model, name);
  for (Field field; message.next(field);) {
    if (field.wire != kBytes) continue;
    if (field.number == kPieces) {
      const uint64_t type = check_piece(field.bytes, name);
      ++pieces;
      unknown += type == kUnknown;
      byte_pieces += type == kByte;
    } else if (field.number == kNormalizer || field.number == kDenormalizer) {
      check_normalizer(field.bytes, name);
    }
  }
  check<IoError>(pieces >= 1 && pieces <= kMaxPieces, name, ": ", pieces, " pieces, expected 1 to ",
                 kMaxPieces, ": is it a SentencePiece model?");
  check<IoError>(unknown == 1, name, ": ", unknown, " unknown pieces, expected 1");
  check<IoError>(byte_pieces == 0 || byte_pieces == 256, name, ": ", byte_pieces,
                 " byte pieces, expected none or 256");
}

}  // namespace rapt

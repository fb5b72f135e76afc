// Pieces and their numbers: the table that counts them and finds their ids.
#pragma once
#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rapt {

// Each piece once, numbered in the order of arrival. Open addressing; a slot holds short pieces
// itself, so that most look-ups touch one cache line; those of one byte have a table of their own.
class PieceTable {
 public:
  size_t size() const { return ends_.size(); }
  std::string_view piece(uint32_t number) const {
    const uint64_t begin = number == 0 ? 0 : ends_[number - 1];
    return {text_.data() + begin, ends_[number] - begin};
  }
  std::optional<uint32_t> find(std::string_view piece) const {
    const uint32_t next =
        piece.size() == 1 ? bytes_[static_cast<uint8_t>(piece[0])] : next_of(piece);
    if (next == 0) return {};
    return next - 1;
  }
  // The number of a known one, or the next.
  uint32_t add(std::string_view piece) {
    const std::optional<uint32_t> known = find(piece);
    return known ? *known : append(piece);
  }
  void clear();

 private:
  struct Slot {
    uint64_t key = 0;
    uint32_t size = 0;
    uint32_t next = 0;  // 1 + the piece's number; 0: free
  };
  uint32_t next_of(std::string_view piece) const;
  size_t place(uint64_t key, std::string_view piece) const;  // of its slot, or of a free one
  uint32_t append(std::string_view piece);
  void grow();

  std::array<uint32_t, 256> bytes_{};                // Slot::next of pieces of one byte
  std::vector<Slot> slots_ = std::vector<Slot>(16);  // a power of two, at most half of them taken
  std::string text_;                                 // of all pieces, one after another
  std::vector<uint64_t> ends_;
};

class PieceCounts {
 public:
  PieceCounts() = default;
  PieceCounts(std::initializer_list<std::pair<std::string_view, uint64_t>> counts) {
    for (const auto& [piece, count] : counts) add(piece, count);
  }
  void add(std::string_view piece, uint64_t count = 1) {
    const uint32_t number = pieces_.add(piece);
    if (number == counts_.size()) counts_.push_back(0);
    counts_[number] += count;
  }
  void add(const PieceCounts& other) {
    for (uint32_t i = 0; i < other.size(); ++i) add(other.piece(i), other.count(i));
  }
  void clear() {
    pieces_.clear();
    counts_.clear();
  }
  size_t size() const { return counts_.size(); }
  std::string_view piece(uint32_t number) const { return pieces_.piece(number); }
  uint64_t count(uint32_t number) const { return counts_[number]; }

 private:
  PieceTable pieces_;
  std::vector<uint64_t> counts_;
};

}  // namespace rapt

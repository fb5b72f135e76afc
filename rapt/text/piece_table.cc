#include "rapt/text/piece_table.h"

#include <algorithm>
#include <cstring>

namespace rapt {
namespace {

template <class Word>
uint64_t load(const char* bytes) {
  Word word;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}

uint64_t mixed(uint64_t x) {
  x = (x ^ x >> 32) * 0x9E3779B97F4A7C15u;
  x = (x ^ x >> 29) * 0xBF58476D1CE4E5B9u;
  return x ^ x >> 32;
}

// Of up to eight bytes all of them, in an order of its own; of more a hash.
uint64_t key_of(std::string_view piece) {
  const char* const begin = piece.data();
  const size_t size = piece.size();
  if (size > 8) {
    uint64_t hash = size;
    for (size_t at = 0; at + 8 < size; at += 8) hash = mixed(hash ^ load<uint64_t>(begin + at));
    return mixed(hash ^ load<uint64_t>(begin + size - 8));
  }
  if (size == 8) return load<uint64_t>(begin);
  if (size >= 4) return load<uint32_t>(begin) << 32 | load<uint32_t>(begin + size - 4);
  if (size == 0) return 0;
  const auto byte = [&](size_t i) { return load<uint8_t>(begin + i); };
  return byte(0) << 16 | byte(size / 2) << 8 | byte(size - 1);
}

}  // namespace

size_t PieceTable::place(uint64_t key, std::string_view piece) const {
  const size_t mask = slots_.size() - 1;
  for (size_t i = mixed(key + piece.size()) & mask;; i = (i + 1) & mask) {
    const Slot& slot = slots_[i];
    if (slot.next == 0) return i;
    if (slot.key != key || slot.size != piece.size()) continue;
    if (piece.size() <= 8 || this->piece(slot.next - 1) == piece) return i;
  }
}

uint32_t PieceTable::next_of(std::string_view piece) const {
  return slots_[place(key_of(piece), piece)].next;
}

uint32_t PieceTable::append(std::string_view piece) {
  text_ += piece;
  ends_.push_back(text_.size());
  const auto next = static_cast<uint32_t>(size());
  if (piece.size() == 1) {
    bytes_[static_cast<uint8_t>(piece[0])] = next;
  } else {
    const uint64_t key = key_of(piece);
    slots_[place(key, piece)] = {key, static_cast<uint32_t>(piece.size()), next};
    if (2 * size() > slots_.size()) grow();
  }
  return next - 1;
}

void PieceTable::grow() {
  const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(2 * slots_.size()));
  for (const Slot& slot : old) {
    if (slot.next != 0) slots_[place(slot.key, piece(slot.next - 1))] = slot;
  }
}

void PieceTable::clear() {
  bytes_ = {};
  std::fill(slots_.begin(), slots_.end(), Slot());
  text_.clear();
  ends_.clear();
}

}  // namespace rapt

// Pieces and their ids; and the record of what had none.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rapt/base/file.h"
#include "rapt/text/piece_table.h"

namespace rapt {

// A new vocabulary starts with these, ids 0 … 3.
inline constexpr std::array<std::string_view, 4> kSpecialSymbols = {"<pad>", "<s>", "</s>",
                                                                    "<unk>"};

// Ids that mean something to models and to decoding.
struct SpecialIds {
  std::optional<int32_t> pad = 0;
  int32_t bos = 1, eos = 2, unk = 3;
  int32_t decoder_start = 1;  // what a target starts with
  std::vector<int32_t> suppressed =
      {};  // never produced. <unk> is not among them: decoding adds it
           // unless it is allowed
  bool operator==(const SpecialIds&) const = default;
};

class Vocabulary {
 public:
  // index = id. `control` ids are symbols, not text: find() never returns them. Throws IoError,
  // with `name`, for a repeated or missing symbol, or more than 2^20 of them.
  Vocabulary(std::vector<std::string> symbols, std::span<const int32_t> control,
             std::string_view name);
  // kSpecialSymbols, then pieces by falling count, ties by code point; those below `min_count` are
  // left out, and those after `max_size` entries in all (0: no limit).
  static Vocabulary of_counts(const PieceCounts& counts, uint64_t min_count, size_t max_size);
  static Vocabulary of_pieces(std::span<const std::string> pieces);  // kSpecialSymbols, then these

  size_t size() const { return symbols_.size(); }
  const std::string& symbol(int32_t id) const { return symbols_[static_cast<size_t>(id)]; }
  const std::vector<std::string>& symbols() const { return symbols_; }
  // The id of a piece of text. "</s>" written in a text is text: nothing, if it is only a symbol.
  std::optional<int32_t> find(std::string_view piece) const {
    const std::optional<uint32_t> id = ids_.find(piece);
    if (!id || control_[*id] != 0) return {};
    return static_cast<int32_t>(*id);
  }

 private:
  std::vector<std::string> symbols_;
  PieceTable ids_;
  std::vector<uint8_t> control_;  // by id: 1 for what is not text
};

std::vector<std::string> read_symbols(const fs::path& path);  // a JSON array of strings
void write_symbols(const fs::path& path, std::span<const std::string> symbols);

// Counts pieces that became <unk> and keeps the first three, for one warning at the end.
class UnknownSymbols {
 public:
  static constexpr size_t kKept = 3;
  struct Seen {
    uint64_t line;  // from 1
    std::string symbol;
  };

  void add(uint64_t line, std::string_view symbol);
  void merge(const UnknownSymbols& later);  // of lines after these
  uint64_t count() const { return count_; }
  const std::vector<Seen>& first() const { return first_; }
  // "train.de: 17 symbols are not in the vocabulary and became <unk>, first: line 3 'ß' (U+00DF),
  // …"; empty when nothing was unknown.
  std::string warning(std::string_view where) const;

 private:
  uint64_t count_ = 0;
  std::vector<Seen> first_;
};

}  // namespace rapt

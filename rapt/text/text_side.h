// One side of a model's text: a line to ids and back, by normalisation, tokeniser and vocabulary.
// Immutable and cheap to copy; threads share one.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rapt/text/normalize.h"
#include "rapt/text/tokenizer.h"
#include "rapt/text/vocabulary.h"

namespace rapt {

struct SideParts {
  std::string kind;  // chars | words | bytes | sentencepiece
  Normalization normalization = Normalization::kNone;
  bool lower = false;
  std::string join = {};  // undone in output
  SpecialIds ids = {};
  std::shared_ptr<const Tokenizer> tokenizer = {};
  std::shared_ptr<const Vocabulary> vocabulary = {};
};

class TextSide {
 public:
  explicit TextSide(SideParts parts);

  // Ids of a line, without <s> and </s>. Checks UTF-8 (IoError, "line N"). A piece that is not in
  // the vocabulary becomes <unk> and is added to `unknown`. An empty line gives no ids.
  std::vector<int32_t> encode(std::string_view line, uint64_t line_number = 0,
                              UnknownSymbols* unknown = nullptr) const;
  // The same after what `ids` holds.
  void encode_to(std::vector<int32_t>& ids, std::string_view line, uint64_t line_number = 0,
                 UnknownSymbols* unknown = nullptr) const;
  // The same for a text with newlines (a prompt): between lines stands the piece "\n".
  std::vector<int32_t> encode_text(std::string_view text, UnknownSymbols* unknown = nullptr) const;
  // Text of ids. Control symbols vanish, <unk> is written as such, `join` is undone.
  std::string decode(std::span<const int32_t> ids) const;
  // What decoding would print for a perfect copy of `line`: normalised, joined. For metrics.
  std::string reference(std::string_view line) const;
  // A short visible name, for axes and tables: the space is ␣, the newline ⏎.
  std::string display(int32_t id) const;

  size_t size() const { return parts_.vocabulary->size(); }  // of the vocabulary
  const SpecialIds& ids() const { return parts_.ids; }
  const Vocabulary& vocabulary() const { return *parts_.vocabulary; }
  const SideParts& parts() const { return parts_; }
  // The id of a line's end in a stream.
  std::optional<int32_t> newline() const { return newline_; }

 private:
  SideParts parts_;
  std::optional<int32_t> newline_;
  std::shared_ptr<const std::vector<bool>> control_;  // by id: vanishes in text
};

}  // namespace rapt

// Text to pieces and back. Pieces are UTF-8 strings; a vocabulary turns them into ids.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rapt/parallel/pool.h"

namespace rapt {

// Immutable: threads share one. Lines hold no newline; a stream's is a piece of its own, "\n".
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  // Gives `piece` the pieces of a line, in order, valid for the call. The line is valid UTF-8.
  virtual void split(std::string_view line, FunctionRef<void(std::string_view)> piece) const = 0;
  std::vector<std::string> encode(std::string_view line) const;
  // The text of pieces; valid UTF-8 whatever the pieces are.
  virtual std::string decode(std::span<const std::string> pieces) const = 0;
  // Every piece that there is, when that does not depend on the data (bytes, sentencepiece).
  virtual std::vector<std::string> fixed_pieces() const { return {}; }
};

// One piece a code point, the space included: decode(encode(x)) == x.
std::unique_ptr<Tokenizer> make_char_tokenizer();
// Words between ASCII white space; decode puts one space between them.
std::unique_ptr<Tokenizer> make_word_tokenizer();
// One piece a byte, named <0x00> … <0xFF>: decode(encode(x)) == x; invalid UTF-8 becomes U+FFFD.
std::unique_ptr<Tokenizer> make_byte_tokenizer();

// SentencePiece (Kudo and Richardson, 2018). The model is checked before the library sees it, for
// Debian's version follows a damaged one out of its memory (CVE-2026-1260).
struct SentencePieceSymbols {  // ids of the model's own
  std::optional<int32_t> pad, bos, eos;
  int32_t unk = 0;
  std::vector<int32_t> control;  // never text: control and unused pieces
};
class SentencePieceTokenizer : public Tokenizer {
 public:
  SentencePieceTokenizer(std::string model, std::string name);  // the file's bytes; throws IoError
  ~SentencePieceTokenizer() override;
  void split(std::string_view line, FunctionRef<void(std::string_view)> piece) const override;
  std::string decode(std::span<const std::string> pieces) const override;
  std::vector<std::string> fixed_pieces() const override;  // index = the model's own id
  const SentencePieceSymbols& symbols() const;
  const std::string& model() const;  // the bytes

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

struct SentencePieceTraining {
  size_t vocabulary_size = 8000;
  std::string model_type = "unigram";  // unigram | bpe | char | word
  bool newline = false;                // a piece "\n", for streams
};
// Trains on the lines that `next` gives until it returns false. Ids 0 … 3 are <pad> <s> </s> <unk>.
// One thread and no random choice: the same lines give the same bytes. Normalisation is ours, none
// is built in. A vocabulary that the data cannot fill gets smaller; one too small for the letters
// is an InvalidArgument with the library's reason.
std::string train_sentencepiece(const std::function<bool(std::string&)>& next,
                                const SentencePieceTraining& options);

// Undoes subword-nmt's segmentation: with join "@@ ", "viel@@ er" becomes "vieler", and a last "@@"
// goes too. An empty join changes nothing.
std::string joined(std::string_view text, std::string_view join);

}  // namespace rapt

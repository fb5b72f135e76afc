// A line of text to ids and back: normalisation, tokeniser and vocabulary of each side, as one
// value that a model directory stores. Immutable and cheap to copy; threads share one.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rapt/io/json.h"
#include "rapt/text/corpus.h"
#include "rapt/text/normalize.h"
#include "rapt/text/tokenizer.h"
#include "rapt/text/vocabulary.h"

namespace rapt {

struct SideOptions {
  std::string tokenizer = "chars";     // chars | words | bytes | sentencepiece | FILE.model
  std::string normalization = "none";  // none | nfc | nfd | nfkc
  bool lower = false;
  std::string join;                    // words: undone in output, "@@ " for subword-nmt
  std::string model_type = "unigram";  // sentencepiece: unigram | bpe | char | word
  size_t vocabulary_size = 0;          // most entries; 0: no limit, with sentencepiece 8000
  uint64_t min_count = 1;
};

struct TextOptions {
  SideOptions source, target;
  bool joint =
      false;  // one vocabulary (and one SentencePiece model): both tokenisers must be equal
};

class TextSide {
 public:
  // Ids of a line, without <s> and </s>. Checks UTF-8 (IoError, "line N"). A piece that is not in
  // the vocabulary becomes <unk> and is added to `unknown`. An empty line gives no ids.
  std::vector<int32_t> encode(std::string_view line, uint64_t line_number = 0,
                              UnknownSymbols* unknown = nullptr) const;
  // The same for a text with newlines (a prompt): between lines stands the piece "\n".
  std::vector<int32_t> encode_text(std::string_view text, UnknownSymbols* unknown = nullptr) const;
  // Text of ids. Control symbols vanish, <unk> is written as such, `join` is undone.
  std::string decode(std::span<const int32_t> ids) const;
  // What decoding would print for a perfect copy of `line`: normalised, joined. For metrics.
  std::string reference(std::string_view line) const;
  // A short visible name, for axes and tables: the space is ␣, the newline ⏎.
  std::string display(int32_t id) const;

  size_t size() const { return vocabulary_->size(); }  // of the vocabulary
  const SpecialIds& ids() const { return ids_; }
  const Vocabulary& vocabulary() const { return *vocabulary_; }
  std::optional<int32_t> newline() const { return vocabulary_->find("\n"); }

 private:
  friend class TextProcessor;
  std::string kind_;  // chars | words | bytes | sentencepiece
  Normalization normalization_ = Normalization::kNone;
  bool lower_ = false;
  std::string join_;
  SpecialIds ids_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::shared_ptr<const Vocabulary> vocabulary_;
};

class TextProcessor {
 public:
  // From data: trains SentencePiece, counts vocabularies. Encoder-decoder: pairs.
  static TextProcessor build(const TextOptions& options, const ParallelCorpus& corpus);
  // Decoder-only: a stream, one side, the target. Its decoder_start is the newline where there is
  // one: an empty prompt starts a new line, which the model has seen, as it has not seen <s>.
  static TextProcessor build(const SideOptions& options, const TextStream& stream);

  // The keys of config.json that describe text: "source" (absent when decoder-only), "target",
  // "vocabulary" (joint | separate), "ids" (of the target; the source's are in "source").
  static constexpr const char* kConfigKeys[] = {"source", "target", "vocabulary", "ids"};
  Json to_json() const;
  // vocabulary.json or source_vocabulary.json and target_vocabulary.json; with SentencePiece also
  // sentencepiece.model, or source_sentencepiece.model and target_sentencepiece.model.
  void save(const fs::path& directory) const;
  // Reads them back. `config` is the whole of config.json (other keys are left alone).
  static TextProcessor load(const fs::path& directory, const JsonObject& config);

  bool has_source() const { return source_.has_value(); }
  const TextSide& source() const { return *source_; }  // only when has_source()
  const TextSide& target() const { return target_; }
  bool joint() const { return joint_; }

 private:
  TextProcessor() = default;
  std::optional<TextSide> source_;
  TextSide target_;
  bool joint_ = false;
};

}  // namespace rapt

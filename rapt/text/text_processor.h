// A line of text to ids and back: normalisation, tokeniser and vocabulary of each side, as one
// value that a model directory stores. Immutable and cheap to copy; threads share one.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "rapt/base/options.h"
#include "rapt/io/json.h"
#include "rapt/text/corpus.h"
#include "rapt/text/text_side.h"

namespace rapt {

struct SideOptions {
  std::string tokenizer = "chars";     // chars | words | bytes | sentencepiece | FILE.model
  std::string normalization = "none";  // none | nfc | nfd | nfkc
  bool lower = false;
  std::string join = {};               // words: undone in output, "@@ " for subword-nmt
  std::string model_type = "unigram";  // sentencepiece: unigram | bpe | char | word
  size_t vocabulary_size = 0;          // most entries; 0: no limit, with sentencepiece 8000
  uint64_t min_count = 1;

  template <class Self, class Visitor>
  static void fields(Self& o, Visitor&& visit) {
    visit("tokenizer", o.tokenizer, "chars, words, bytes, sentencepiece, or a FILE.model");
    visit("normalization", o.normalization, "of Unicode: none, nfc, nfd, nfkc");
    visit("lower", o.lower, "lower case");
    visit("join", o.join, "words: what output is joined at, \"@@ \" for subword-nmt");
    visit("model_type", o.model_type, "of sentencepiece: unigram, bpe, char, word");
    visit("vocabulary_size", o.vocabulary_size, Range{0, 1 << 20},
          "most entries of the vocabulary; 0: no limit, with sentencepiece 8000");
    visit("min_count", o.min_count, Range{1, 1e12}, "rarer pieces become <unk>");
  }
};

struct TextOptions {
  SideOptions source, target;
  bool joint =
      false;  // one vocabulary (and one SentencePiece model): both tokenisers must be equal
};

class TextProcessor {
 public:
  // From data: trains SentencePiece, counts vocabularies, these with the threads of a pool where one
  // is given. Encoder-decoder: pairs.
  static TextProcessor build(const TextOptions& options, const ParallelCorpus& corpus,
                             Pool* pool = nullptr);
  // Decoder-only: a stream, one side, the target. Its decoder_start is the newline where there is
  // one: an empty prompt starts a new line, which the model has seen, as it has not seen <s>.
  static TextProcessor build(const SideOptions& options, const TextStream& stream,
                             Pool* pool = nullptr);

  // The keys of config.json that describe text: "source" (null when decoder-only), "target",
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
  TextProcessor(std::optional<TextSide> source, TextSide target, bool joint)
      : source_(std::move(source)), target_(std::move(target)), joint_(joint) {}

  std::optional<TextSide> source_;
  TextSide target_;
  bool joint_;
};

}  // namespace rapt

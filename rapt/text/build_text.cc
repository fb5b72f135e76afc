// TextProcessor::build: a side's tokeniser and vocabulary from the lines of a corpus.
#include <algorithm>
#include <functional>
#include <vector>

#include "rapt/base/check.h"
#include "rapt/base/philox.h"
#include "rapt/base/utf8.h"
#include "rapt/text/permutation.h"
#include "rapt/text/text_processor.h"

namespace rapt {
namespace {

// The lines to learn from, one after another, by number: a corpus's sides, or a stream's chunks.
struct Lines {
  uint64_t size = 0;
  // As it is in the file, valid until the next call; fastest one after another.
  std::function<std::string_view(uint64_t)> line;
  bool newlines = false;  // each ends in a piece "\n"
};

// SentencePiece holds its sentences in memory; beyond these a sample serves as well.
constexpr uint64_t kMaxSentences = 2'000'000;
constexpr size_t kDefaultSentencePieces = 8000;

bool is_model_file(const std::string& tokenizer) { return tokenizer.ends_with(".model"); }

std::string kind_of(const SideOptions& options) {
  const std::string& name = options.tokenizer;
  const bool known =
      name == "chars" || name == "words" || name == "bytes" || name == "sentencepiece";
  check(known || is_model_file(name), "tokenizer \"", printable(name, 80),
        "\": expected chars, words, bytes, sentencepiece or a file that ends in .model");
  return known ? name : "sentencepiece";
}

std::string train_on(const Lines& lines, const SideOptions& options, Normalization form) {
  const uint64_t wanted = std::min(lines.size, kMaxSentences);
  constexpr uint64_t kSampleKey = op_key(0, Stream::kShuffle, site_of("sentencepiece"), 0);
  uint64_t i = 0;
  const auto next = [&](std::string& line) {
    if (i == wanted) return false;
    const uint64_t number = wanted == lines.size ? i : permuted(i, lines.size, kSampleKey);
    ++i;
    line = normalized(lines.line(number), form, options.lower);
    return true;
  };
  return train_sentencepiece(
      next, {options.vocabulary_size == 0 ? kDefaultSentencePieces : options.vocabulary_size,
             options.model_type, lines.newlines});
}

std::shared_ptr<const Tokenizer> make_tokenizer(const std::string& kind, const SideOptions& options,
                                                const Lines& lines, Normalization form) {
  if (kind == "chars") return make_char_tokenizer();
  if (kind == "words") return make_word_tokenizer();
  if (kind == "bytes") return make_byte_tokenizer();
  constexpr uint64_t kMaxModel = uint64_t{64} << 20;
  const bool given = is_model_file(options.tokenizer);
  return std::make_shared<const SentencePieceTokenizer>(
      given ? read_file(options.tokenizer, kMaxModel) : train_on(lines, options, form),
      given ? options.tokenizer : "sentencepiece");
}

// What counting the pieces of make_char_tokenizer() gives; a table is ten times as fast as a map.
PieceCounts count_characters(const Lines& lines, const SideOptions& options, Normalization form) {
  std::vector<uint64_t> by_code(0x110000);
  for (uint64_t i = 0; i < lines.size; ++i) {
    const std::string text = normalized(lines.line(i), form, options.lower);
    for (size_t at = 0; at < text.size();) {
      const CodePoint code = utf8_decode(text, at);
      check(code.size > 0, "line ", i + 1, ": invalid UTF-8 at byte ", at + 1);
      ++by_code[code.value];
      at += code.size;
    }
  }
  PieceCounts counts;
  for (size_t code = 0; code < by_code.size(); ++code) {
    if (by_code[code] == 0) continue;
    std::string piece;
    utf8_append(piece, static_cast<char32_t>(code));
    counts.emplace(std::move(piece), by_code[code]);
  }
  return counts;
}

PieceCounts count_pieces(const Lines& lines, const SideOptions& options, Normalization form,
                         const Tokenizer& tokenizer) {
  PieceCounts counts;
  for (uint64_t i = 0; i < lines.size; ++i) {
    for (std::string& piece : tokenizer.encode(normalized(lines.line(i), form, options.lower))) {
      ++counts[std::move(piece)];
    }
  }
  return counts;
}

Vocabulary learn_vocabulary(const Lines& lines, const SideOptions& options,
                            const SideParts& parts) {
  PieceCounts counts = parts.kind == "chars"
                           ? count_characters(lines, options, parts.normalization)
                           : count_pieces(lines, options, parts.normalization, *parts.tokenizer);
  if (lines.newlines) counts["\n"] += lines.size;
  constexpr size_t kMaxSize = size_t{1} << 20;
  const size_t limit = options.vocabulary_size == 0 ? kMaxSize : options.vocabulary_size;
  return Vocabulary::of_counts(counts, options.min_count, std::min(limit, kMaxSize));
}

// The model's own ids. Without <s>, </s> starts the target, as it does in fairseq's models.
SpecialIds ids_of(const SentencePieceSymbols& symbols, const std::string& name) {
  check<IoError>(symbols.eos.has_value(), name, ": has no </s>, which ends a sentence");
  SpecialIds ids;
  ids.pad = symbols.pad;
  ids.eos = *symbols.eos;
  ids.bos = symbols.bos.value_or(ids.eos);
  ids.unk = symbols.unk;
  ids.decoder_start = ids.bos;
  for (const int32_t id : symbols.control) {
    if (id != ids.eos && id != ids.unk) ids.suppressed.push_back(id);
  }
  return ids;
}

SideParts build_side(const SideOptions& options, const Lines& lines) {
  SideParts parts;
  parts.kind = kind_of(options);
  parts.normalization = normalization_of(options.normalization);
  parts.lower = options.lower;
  parts.join = options.join;
  parts.tokenizer = make_tokenizer(parts.kind, options, lines, parts.normalization);
  if (parts.kind == "sentencepiece") {
    const auto& tokenizer = dynamic_cast<const SentencePieceTokenizer&>(*parts.tokenizer);
    parts.ids = ids_of(tokenizer.symbols(), options.tokenizer);
    std::vector<int32_t> control = parts.ids.suppressed;
    control.insert(control.end(), {parts.ids.eos, parts.ids.unk});
    parts.vocabulary =
        std::make_shared<const Vocabulary>(tokenizer.fixed_pieces(), control, options.tokenizer);
    return parts;
  }
  parts.ids.suppressed = {*parts.ids.pad, parts.ids.bos};
  parts.vocabulary = std::make_shared<const Vocabulary>(
      parts.kind == "bytes" ? Vocabulary::of_pieces(parts.tokenizer->fixed_pieces())
                            : learn_vocabulary(lines, options, parts));
  return parts;
}

}  // namespace

TextProcessor TextProcessor::build(const TextOptions& options, const ParallelCorpus& corpus) {
  const uint64_t n = corpus.size();
  auto part = [&corpus, cursor = ParallelCorpus::Cursor(corpus)](
                  uint64_t i, bool target) mutable -> std::string_view {
    if (corpus.too_long(i)) return {};
    const ParallelCorpus::Cursor::View pair = cursor.pair(i);
    return target ? pair.target : pair.source;
  };
  if (!options.joint) {
    TextSide source(build_side(options.source, {n, [&](uint64_t i) { return part(i, false); }}));
    TextSide target(build_side(options.target, {n, [&](uint64_t i) { return part(i, true); }}));
    return TextProcessor(std::move(source), std::move(target), false);
  }
  const SideOptions &a = options.source, &b = options.target;
  check(
      a.tokenizer == b.tokenizer && a.normalization == b.normalization && a.lower == b.lower,
      "a joint vocabulary needs the same tokenizer, normalization and lower-casing on both sides");
  SideParts parts = build_side(b, {2 * n, [&](uint64_t i) { return part(i % n, i >= n); }});
  TextSide target(parts);
  parts.join = a.join;
  return TextProcessor(TextSide(std::move(parts)), std::move(target), true);
}

TextProcessor TextProcessor::build(const SideOptions& options, const TextStream& stream) {
  std::string text;
  const auto line = [&](uint64_t i) -> std::string_view { return text = stream.chunk(i).text; };
  SideParts parts = build_side(options, {stream.chunks(), line, true});
  const std::optional<int32_t> newline = TextSide(parts).newline();
  check(newline.has_value() || parts.kind != "sentencepiece", options.tokenizer,
        ": has no piece for the newline, which a stream needs; train one with --tokenizer "
        "sentencepiece");
  parts.ids.decoder_start = newline.value_or(parts.ids.bos);
  return TextProcessor(std::nullopt, TextSide(std::move(parts)), true);
}

}  // namespace rapt

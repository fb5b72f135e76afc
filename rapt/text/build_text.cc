// TextProcessor::build: a side's tokeniser and vocabulary from the lines of a corpus.
#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <vector>

#include "rapt/base/check.h"
#include "rapt/base/philox.h"
#include "rapt/base/utf8.h"
#include "rapt/text/permutation.h"
#include "rapt/text/text_processor.h"

namespace rapt {
namespace {

// The texts to learn from, by number: a corpus's sides, or a stream's chunks.
struct Lines {
  uint64_t size = 0;
  // f(text) for the numbers from `begin` to `end`, in order; the text is as it is in the file, and
  // valid for the call. Thread-safe.
  std::function<void(uint64_t begin, uint64_t end, FunctionRef<void(std::string_view)> f)> each;
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
    lines.each(number, number + 1,
               [&](std::string_view text) { line = normalized(text, form, options.lower); });
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

// Each thread counts into a table of its own, which stays in its cache: when that gets large it is
// added to the whole, and begins anew.
PieceCounts count_pieces(const Lines& lines, const SideOptions& options, const SideParts& parts,
                         Pool* pool) {
  constexpr uint64_t kBlock = 4096;
  constexpr size_t kLarge = size_t{1} << 16;
  PieceCounts whole;
  std::mutex mutex;
  std::atomic<uint64_t> next = 0;
  const auto count = [&](size_t) {
    PieceCounts own;
    std::string buffer;
    const auto add_to_whole = [&] {
      const std::lock_guard lock(mutex);
      whole.add(own);
    };
    for (uint64_t begin; (begin = next.fetch_add(kBlock)) < lines.size;) {
      lines.each(begin, std::min(begin + kBlock, lines.size), [&](std::string_view line) {
        parts.tokenizer->split(normalized(line, parts.normalization, options.lower, buffer),
                               [&](std::string_view piece) { own.add(piece); });
      });
      if (own.size() <= kLarge) continue;
      add_to_whole();
      own.clear();
    }
    add_to_whole();
  };
  if (pool != nullptr) {
    pool->run(pool->threads(), count);
  } else {
    count(0);
  }
  return whole;
}

Vocabulary learn_vocabulary(const Lines& lines, const SideOptions& options, const SideParts& parts,
                            Pool* pool) {
  PieceCounts counts = count_pieces(lines, options, parts, pool);
  if (lines.newlines) counts.add("\n", lines.size);
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

SideParts build_side(const SideOptions& options, const Lines& lines, Pool* pool) {
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
                            : learn_vocabulary(lines, options, parts, pool));
  return parts;
}

}  // namespace

TextProcessor TextProcessor::build(const TextOptions& options, const ParallelCorpus& corpus,
                                   Pool* pool) {
  const uint64_t n = corpus.size();
  // Lines over the limit count as empty.
  const auto each = [&corpus](uint64_t begin, uint64_t end, bool target,
                              FunctionRef<void(std::string_view)> f) {
    ParallelCorpus::Cursor cursor(corpus, begin, end);
    for (uint64_t i = begin; i < end; ++i) {
      if (corpus.too_long(i)) {
        f({});
        continue;
      }
      const ParallelCorpus::Cursor::View pair = cursor.pair(i);
      f(target ? pair.target : pair.source);
    }
  };
  const auto side = [&](bool target) -> Lines {
    return {n, [=](uint64_t begin, uint64_t end, FunctionRef<void(std::string_view)> f) {
              each(begin, end, target, f);
            }};
  };
  if (!options.joint) {
    TextSide source(build_side(options.source, side(false), pool));
    TextSide target(build_side(options.target, side(true), pool));
    return TextProcessor(std::move(source), std::move(target), false);
  }
  const SideOptions &a = options.source, &b = options.target;
  check(
      a.tokenizer == b.tokenizer && a.normalization == b.normalization && a.lower == b.lower,
      "a joint vocabulary needs the same tokenizer, normalization and lower-casing on both sides");
  const auto both = [=](uint64_t begin, uint64_t end, FunctionRef<void(std::string_view)> f) {
    if (begin < n) each(begin, std::min(end, n), false, f);
    if (end > n) each(std::max(begin, n) - n, end - n, true, f);
  };
  SideParts parts = build_side(b, {2 * n, both}, pool);
  TextSide target(parts);
  parts.join = a.join;
  return TextProcessor(TextSide(std::move(parts)), std::move(target), true);
}

TextProcessor TextProcessor::build(const SideOptions& options, const TextStream& stream,
                                   Pool* pool) {
  const auto each = [&](uint64_t begin, uint64_t end, FunctionRef<void(std::string_view)> f) {
    TextStream::Cursor cursor(stream, begin, end);
    for (uint64_t i = begin; i < end; ++i) f(cursor.chunk(i).text);
  };
  SideParts parts = build_side(options, {stream.chunks(), each, true}, pool);
  const std::optional<int32_t> newline = TextSide(parts).newline();
  check(newline.has_value() || parts.kind != "sentencepiece", options.tokenizer,
        ": has no piece for the newline, which a stream needs; train one with --tokenizer "
        "sentencepiece");
  parts.ids.decoder_start = newline.value_or(parts.ids.bos);
  return TextProcessor(std::nullopt, TextSide(std::move(parts)), true);
}

}  // namespace rapt

#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "rapt/base/check.h"
#include "rapt/base/utf8.h"
#include "rapt/text/sentencepiece_check.h"
#include "rapt/text/tokenizer.h"

namespace rapt {
namespace {

// Stands for <unk> while the library decodes, since it would print its own sign for that; private use.
constexpr const char* kUnknownMark = "\U0010FFFD";

class Sentences : public sentencepiece::SentenceIterator {
 public:
  explicit Sentences(const std::vector<std::string>& lines) : lines_(lines) {}
  bool done() const override { return at_ == lines_.size(); }
  void Next() override { ++at_; }
  const std::string& value() const override { return lines_[at_]; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  const std::vector<std::string>& lines_;
  size_t at_ = 0;
};

// All characters belong to the pieces, unless they would fill more than half of them.
const char* coverage(const std::vector<std::string>& lines, size_t vocabulary_size) {
  std::set<std::string, std::less<>> characters;
  for (const std::string& line : lines) {
    for (const std::string_view c : utf8_split(line)) {
      if (!characters.contains(c)) characters.emplace(c);
    }
  }
  return characters.size() <= vocabulary_size / 2 ? "1.0" : "0.9995";
}

}  // namespace

struct SentencePieceTokenizer::Impl {
  std::string model, name;
  sentencepiece::SentencePieceProcessor processor;
  SentencePieceSymbols symbols;
  std::string unknown;
};

SentencePieceTokenizer::SentencePieceTokenizer(std::string model, std::string name)
    : impl_(std::make_unique<Impl>()) {
  check_sentencepiece_model(model, name);
  impl_->model = std::move(model);
  impl_->name = std::move(name);
  auto& processor = impl_->processor;
  const auto status = processor.LoadFromSerializedProto(impl_->model);
  check<IoError>(status.ok(), impl_->name, ": SentencePiece: ", printable(status.ToString()));

  SentencePieceSymbols& symbols = impl_->symbols;
  const auto optional = [](int id) { return id < 0 ? std::nullopt : std::optional<int32_t>(id); };
  symbols.pad = optional(processor.pad_id());
  symbols.bos = optional(processor.bos_id());
  symbols.eos = optional(processor.eos_id());
  symbols.unk = processor.unk_id();
  for (int id = 0; id < processor.GetPieceSize(); ++id) {
    if (processor.IsControl(id) || processor.IsUnused(id)) symbols.control.push_back(id);
  }
  impl_->unknown = processor.IdToPiece(symbols.unk);
}

SentencePieceTokenizer::~SentencePieceTokenizer() = default;

void SentencePieceTokenizer::split(std::string_view line,
                                   FunctionRef<void(std::string_view)> piece) const {
  std::vector<std::string> pieces;
  const auto status = impl_->processor.Encode(line, &pieces);
  check<IoError>(status.ok(), impl_->name, ": SentencePiece: ", printable(status.ToString()));
  for (const std::string& found : pieces) piece(found);
}

std::string SentencePieceTokenizer::decode(std::span<const std::string> pieces) const {
  std::vector<std::string> marked(pieces.begin(), pieces.end());
  std::replace(marked.begin(), marked.end(), impl_->unknown, std::string(kUnknownMark));
  std::string text;
  const auto status = impl_->processor.Decode(marked, &text);
  check<IoError>(status.ok(), impl_->name, ": SentencePiece: ", printable(status.ToString()));
  for (size_t at = 0; (at = text.find(kUnknownMark, at)) != std::string::npos;) {
    text.replace(at, std::string_view(kUnknownMark).size(), impl_->unknown);
    at += impl_->unknown.size();
  }
  return utf8_repaired(text);
}

std::vector<std::string> SentencePieceTokenizer::fixed_pieces() const {
  std::vector<std::string> pieces;
  for (int id = 0; id < impl_->processor.GetPieceSize(); ++id) {
    pieces.push_back(impl_->processor.IdToPiece(id));
  }
  return pieces;
}

const SentencePieceSymbols& SentencePieceTokenizer::symbols() const { return impl_->symbols; }
const std::string& SentencePieceTokenizer::model() const { return impl_->model; }

std::string train_sentencepiece(const std::function<bool(std::string&)>& next,
                                const SentencePieceTraining& options) {
  const std::string& type = options.model_type;
  check(type == "unigram" || type == "bpe" || type == "char" || type == "word",
        "sentencepiece: model type \"", printable(type, 40),
        "\": expected unigram, bpe, char or word");
  std::vector<std::string> lines;
  for (std::string line; next(line);) lines.push_back(std::move(line));
  std::unordered_map<std::string, std::string> arguments = {
      {"model_type", type},
      {"vocab_size", std::to_string(options.vocabulary_size)},
      {"hard_vocab_limit", "false"},
      {"character_coverage", coverage(lines, options.vocabulary_size)},
      {"normalization_rule_name", "identity"},
      {"max_sentence_length", "65536"},
      {"num_threads", "1"},
      {"pad_id", "0"},
      {"bos_id", "1"},
      {"eos_id", "2"},
      {"unk_id", "3"},
      {"pad_piece", "<pad>"},
      {"minloglevel", "3"},
  };
  if (options.newline) arguments.emplace("user_defined_symbols", "\n");
  Sentences sentences(lines);
  std::string model;
  const auto status = sentencepiece::SentencePieceTrainer::Train(arguments, &sentences, &model);
  check(status.ok(), "sentencepiece: training on ", lines.size(),
        " lines: ", printable(status.ToString(), 400));
  return model;
}

}  // namespace rapt

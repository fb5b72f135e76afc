#include "rapt/text/text_processor.h"

#include "rapt/base/check.h"

namespace rapt {
namespace {

constexpr const char* kModelName = "sentencepiece.model";
constexpr const char* kVocabularyName = "vocabulary.json";

Json ids_to_json(const SpecialIds& ids) {
  Json json;
  json["pad"] = ids.pad ? Json(*ids.pad) : Json(nullptr);
  json["bos"] = ids.bos;
  json["eos"] = ids.eos;
  json["unk"] = ids.unk;
  json["decoder_start"] = ids.decoder_start;
  json["suppressed"] = ids.suppressed;
  return json;
}

SpecialIds ids_from_json(const JsonObject& json, size_t vocabulary_size) {
  json.refuse_unknown({"pad", "bos", "eos", "unk", "decoder_start", "suppressed"});
  const int64_t last = static_cast<int64_t>(vocabulary_size) - 1;
  const auto id = [&](const char* key) { return static_cast<int32_t>(json.integer(key, 0, last)); };
  SpecialIds ids;
  ids.pad = json.is_null("pad") ? std::nullopt : std::optional(id("pad"));
  ids.bos = id("bos");
  ids.eos = id("eos");
  ids.unk = id("unk");
  ids.decoder_start = id("decoder_start");
  const std::vector<int64_t> suppressed = json.integers("suppressed", 0, last);
  ids.suppressed.assign(suppressed.begin(), suppressed.end());
  if (ids.eos == ids.unk) json.fail("eos", "is the same as unk");
  return ids;
}

Json side_to_json(const TextSide& side) {
  const SideParts& parts = side.parts();
  Json json;
  json["tokenizer"] = parts.kind;
  json["normalization"] = name_of(parts.normalization);
  json["lower"] = parts.lower;
  json["join"] = parts.join;
  return json;
}

void save_side(const TextSide& side, const fs::path& directory, const std::string& prefix) {
  write_symbols(directory / (prefix + kVocabularyName), side.vocabulary().symbols());
  if (side.parts().kind != "sentencepiece") return;
  const auto& tokenizer = dynamic_cast<const SentencePieceTokenizer&>(*side.parts().tokenizer);
  write_file(directory / (prefix + kModelName), tokenizer.model());
}

std::shared_ptr<const Tokenizer> load_tokenizer(const std::string& kind, const fs::path& model) {
  if (kind == "chars") return make_char_tokenizer();
  if (kind == "words") return make_word_tokenizer();
  if (kind == "bytes") return make_byte_tokenizer();
  constexpr uint64_t kMaxModel = uint64_t{64} << 20;
  return std::make_shared<const SentencePieceTokenizer>(read_file(model, kMaxModel),
                                                        model.string());
}

TextSide load_side(const fs::path& directory, const std::string& prefix, const JsonObject& config,
                   const JsonObject& ids) {
  SideParts parts;
  parts.kind = config.choice("tokenizer", {"chars", "words", "bytes", "sentencepiece"});
  parts.normalization =
      normalization_of(config.choice("normalization", {"none", "nfc", "nfd", "nfkc"}));
  parts.lower = config.boolean("lower");
  parts.join = config.string("join");

  const fs::path path = directory / (prefix + kVocabularyName);
  std::vector<std::string> symbols = read_symbols(path);
  parts.ids = ids_from_json(ids, symbols.size());
  parts.tokenizer = load_tokenizer(parts.kind, directory / (prefix + kModelName));
  if (parts.kind == "sentencepiece") {
    check<IoError>(symbols == parts.tokenizer->fixed_pieces(), path.string(),
                   ": does not belong to ", prefix, kModelName,
                   " beside it: are files of two models mixed?");
  }
  std::vector<int32_t> control = {parts.ids.bos, parts.ids.eos, parts.ids.unk};
  if (parts.ids.pad) control.push_back(*parts.ids.pad);
  control.insert(control.end(), parts.ids.suppressed.begin(), parts.ids.suppressed.end());
  parts.vocabulary = std::make_shared<const Vocabulary>(std::move(symbols), control, path.string());
  return TextSide(std::move(parts));
}

}  // namespace

Json TextProcessor::to_json() const {
  Json json;
  json["source"] = nullptr;
  if (has_source()) {
    json["source"] = side_to_json(source());
    json["source"]["ids"] = ids_to_json(source().ids());
  }
  json["target"] = side_to_json(target());
  json["vocabulary"] = joint_ ? "joint" : "separate";
  json["ids"] = ids_to_json(target().ids());
  return json;
}

void TextProcessor::save(const fs::path& directory) const {
  if (joint_) return save_side(target(), directory, "");
  save_side(source(), directory, "source_");
  save_side(target(), directory, "target_");
}

TextProcessor TextProcessor::load(const fs::path& directory, const JsonObject& config) {
  const bool joint = config.choice("vocabulary", {"joint", "separate"}) == "joint";
  const JsonObject target = config.object("target");
  target.refuse_unknown({"tokenizer", "normalization", "lower", "join"});
  TextSide target_side = load_side(directory, joint ? "" : "target_", target, config.object("ids"));
  if (config.is_null("source")) {
    if (!joint) config.fail("vocabulary", "expected \"joint\" where there is no source");
    return TextProcessor(std::nullopt, std::move(target_side), true);
  }
  const JsonObject source = config.object("source");
  source.refuse_unknown({"tokenizer", "normalization", "lower", "join", "ids"});
  TextSide source_side = load_side(directory, joint ? "" : "source_", source, source.object("ids"));
  return TextProcessor(std::move(source_side), std::move(target_side), joint);
}

}  // namespace rapt

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "rapt/base/check.h"
#include "rapt/base/philox.h"
#include "rapt/text/sentencepiece_check.h"
#include "rapt/text/tokenizer.h"

namespace rapt {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using testing::ThrowsMessage;

const std::vector<std::string>& sentences() {
  static const std::vector<std::string> lines = [] {
    const std::vector<std::string> words = {"the",   "small",  "house", "stands", "on",
                                            "a",     "hill",   "and",   "looks",  "over",
                                            "water", "straße", "größe", "weather"};
    std::vector<std::string> made;
    for (uint32_t i = 0; i < 400; ++i) {
      std::string line;
      for (uint32_t w = 0; w < 6; ++w) {
        line += words[philox({i, w, 0, 0}, 1)[0] % words.size()] + (w < 5 ? " " : ".");
      }
      made.push_back(line);
    }
    return made;
  }();
  return lines;
}

std::string train(const SentencePieceTraining& options) {
  size_t i = 0;
  const auto next = [&](std::string& line) {
    if (i == sentences().size()) return false;
    line = sentences()[i++];
    return true;
  };
  return train_sentencepiece(next, options);
}

TEST(SentencePiece, TrainsWithOurIdsAndComesBack) {
  for (const char* type : {"unigram", "bpe"}) {
    const std::string model = train({.vocabulary_size = 80, .model_type = type});
    EXPECT_EQ(model, train({.vocabulary_size = 80, .model_type = type})) << "not reproducible";
    const SentencePieceTokenizer tokenizer(model, "test.model");
    const std::vector<std::string> pieces = tokenizer.fixed_pieces();
    EXPECT_LE(pieces.size(), 80u);
    EXPECT_GE(pieces.size(), 30u);
    EXPECT_THAT(std::vector(pieces.begin(), pieces.begin() + 4),
                ElementsAre("<pad>", "<s>", "</s>", "<unk>"));
    EXPECT_EQ(tokenizer.symbols().pad, 0);
    EXPECT_EQ(tokenizer.symbols().bos, 1);
    EXPECT_EQ(tokenizer.symbols().eos, 2);
    EXPECT_EQ(tokenizer.symbols().unk, 3);
    EXPECT_THAT(tokenizer.symbols().control, ElementsAre(0, 1, 2));
    for (const std::string& line : sentences())
      EXPECT_EQ(tokenizer.decode(tokenizer.encode(line)), line);
    EXPECT_LT(tokenizer.encode(sentences()[0]).size(), sentences()[0].size());
  }
}

TEST(SentencePiece, UnknownTextKeepsItsPlaceInOutput) {
  const SentencePieceTokenizer tokenizer(train({.vocabulary_size = 80}), "test.model");
  std::vector<std::string> pieces = tokenizer.encode("the ☃ house");
  EXPECT_THAT(pieces, Contains(HasSubstr("☃")));
  for (std::string& piece : pieces) {
    if (piece == "☃") piece = "<unk>";
  }
  EXPECT_EQ(tokenizer.decode(pieces), "the <unk> house");
}

TEST(SentencePiece, ASizeThatTheDataCannotFillIsLowered) {
  const SentencePieceTokenizer tokenizer(train({.vocabulary_size = 30000}), "test.model");
  EXPECT_LT(tokenizer.fixed_pieces().size(), 1000u);
}

TEST(SentencePiece, NewlineIsAPieceForStreams) {
  const SentencePieceTokenizer tokenizer(train({.vocabulary_size = 80, .newline = true}),
                                         "test.model");
  EXPECT_THAT(tokenizer.fixed_pieces(), Contains("\n"));
}

TEST(SentencePiece, TrainingErrorsCarryTheReason) {
  EXPECT_THAT([] { train({.model_type = "nonsense"}); },
              ThrowsMessage<InvalidArgument>(HasSubstr("\"nonsense\": expected unigram")));
  EXPECT_THAT([] { train({.vocabulary_size = 8}); },
              ThrowsMessage<InvalidArgument>(StartsWith("sentencepiece: training on 400 lines")));
  const auto nothing = [](std::string&) { return false; };
  EXPECT_THROW(train_sentencepiece(nothing, {}), InvalidArgument);
}

std::string field(uint32_t number, std::string_view bytes) {  // length-delimited; both below 128
  return concat(static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size()), bytes);
}
std::string piece(const char* text, char type) { return field(1, field(1, text) + "\x18" + type); }

TEST(SentencePieceCheck, RefusesModelsOutsideTheLimits) {
  const std::string good = piece("<unk>", 2) + piece("a", 1);
  EXPECT_NO_THROW(check_sentencepiece_model(good, "x.model"));
  const auto refuses = [](const std::string& model, const char* what) {
    EXPECT_THAT([&] { check_sentencepiece_model(model, "x.model"); },
                ThrowsMessage<IoError>(testing::AllOf(StartsWith("x.model: "), HasSubstr(what))));
  };
  refuses("", "0 pieces");
  refuses("garbage", "damaged");
  refuses(piece("a", 1), "0 unknown pieces");
  refuses(good + piece("b", 2), "2 unknown pieces");
  refuses(good + piece("b", 9), "type 9");
  refuses(good + piece("<0x00>", 6), "1 byte pieces");
  refuses(good + field(1, field(1, "b") + std::string("\x15\0\0\xC0\x7F", 5)), "not finite");
  refuses(good + field(1, field(1, "\xFF")), "invalid UTF-8");
  refuses(good.substr(0, good.size() - 1), "damaged");
}

// A trie of 256 units whose first points where `unit` says, and one replacement string.
std::string with_map(uint32_t unit, std::string_view strings) {
  std::string map(4 + 1024, '\0');
  const uint32_t trie_bytes = 1024;
  std::memcpy(map.data(), &trie_bytes, 4);
  std::memcpy(map.data() + 4, &unit, 4);
  map += strings;
  const auto large = [](uint32_t number, const std::string& bytes) {
    return concat(static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size() % 128 | 128),
                  static_cast<char>(bytes.size() / 128), bytes);
  };
  return piece("<unk>", 2) + large(3, large(2, map));
}

TEST(SentencePieceCheck, RefusesMapsThatPointOutside) {
  using std::string_view_literals::operator""sv;
  EXPECT_NO_THROW(check_sentencepiece_model(with_map(0, "ab\0"sv), "x"));
  EXPECT_NO_THROW(check_sentencepiece_model(with_map(0x80000002, "ab\0"sv), "x"));
  EXPECT_THROW(check_sentencepiece_model(with_map(0x80000003, "ab\0"sv), "x"), IoError);
  EXPECT_THROW(check_sentencepiece_model(with_map(256 << 10, "ab\0"sv), "x"), IoError);
  EXPECT_THROW(check_sentencepiece_model(with_map(1 << 10 | 512, "ab\0"sv), "x"), IoError);
  EXPECT_THROW(check_sentencepiece_model(with_map(0, "ab"sv), "x"), IoError);
}

// Changed bytes anywhere: the model is refused, or it works on text; nothing else.
TEST(SentencePieceCheck, ChangedBytesNeverCrash) {
  const std::string good = train({.vocabulary_size = 60});
  for (uint32_t i = 0; i < 600; ++i) {
    std::string model = good;
    const PhiloxBlock draw = philox({i, 0, 0, 0}, 5);
    model[draw[0] % model.size()] = static_cast<char>(draw[1]);
    if (draw[2] % 4 == 0) model.resize(draw[3] % model.size());
    try {
      const SentencePieceTokenizer tokenizer(model, "changed.model");
      tokenizer.decode(tokenizer.encode("the größe ☃ house"));
    } catch (const IoError& error) {
      EXPECT_THAT(error.what(), HasSubstr("changed.model"));
    }
  }
}

}  // namespace
}  // namespace rapt

#include "rapt/text/text_processor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "rapt/base/check.h"
#include "rapt/base/philox.h"

namespace rapt {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::Ge;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

class TextProcessorTest : public testing::Test {
 protected:
  TextProcessorTest() : folder_(fs::temp_directory_path() / concat("rapt_text-", ::getpid())) {
    fs::create_directories(folder_ / "model");
  }
  ~TextProcessorTest() override { fs::remove_all(folder_); }

  fs::path file(const char* name, std::string_view text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }
  ParallelCorpus corpus() const {
    return ParallelCorpus::open({file("a.tsv", "abc\tein haus\nb\tein hund\nßc\tzwei hunde\n")});
  }
  fs::path sentences() const {
    std::string text;
    for (int i = 0; i < 60; ++i) {
      text += concat("the small house ", i, " stands on a hill\tdas kleine haus ", i,
                     " steht am hang\n");
    }
    return file("s.tsv", text);
  }
  // What a model directory gives back, by way of the text of config.json.
  TextProcessor reloaded(const TextProcessor& text) const {
    text.save(folder_ / "model");
    const Json json = parse_json(text.to_json().dump(), "config.json");
    return TextProcessor::load(folder_ / "model", JsonObject(json, "config.json"));
  }

  const fs::path folder_;
};

TEST_F(TextProcessorTest, EachSideHasItsOwnTokensAndIds) {
  TextOptions options;
  options.target.tokenizer = "words";
  const auto text = TextProcessor::build(options, corpus());
  EXPECT_THAT(text.source().vocabulary().symbols(),
              ElementsAre("<pad>", "<s>", "</s>", "<unk>", "b", "c", "a", "ß"));
  EXPECT_THAT(text.target().vocabulary().symbols(),
              ElementsAre("<pad>", "<s>", "</s>", "<unk>", "ein", "haus", "hund", "hunde", "zwei"));
  EXPECT_THAT(text.source().encode("cab"), ElementsAre(5, 6, 4));
  EXPECT_THAT(text.target().encode(" zwei  hund"), ElementsAre(8, 6));
  EXPECT_EQ(text.target().decode(std::vector<int32_t>{1, 8, 6, 2, 0}), "zwei hund");
  EXPECT_EQ(text.target().decode(std::vector<int32_t>{3, 6}), "<unk> hund");
  EXPECT_THAT(text.target().encode(""), IsEmpty());
  EXPECT_EQ(text.target().ids().decoder_start, 1);
  EXPECT_THAT(text.target().ids().suppressed, ElementsAre(0, 1));
  EXPECT_FALSE(text.joint());
}

TEST_F(TextProcessorTest, UnknownSymbolsBecomeUnkAndAreCounted) {
  TextOptions options;
  options.target.tokenizer = "words";
  const auto text = TextProcessor::build(options, corpus());
  UnknownSymbols unknown;
  EXPECT_THAT(text.source().encode("aéa", 7, &unknown), ElementsAre(6, 3, 6));
  EXPECT_THAT(text.target().encode("</s> <unk> haus <s>", 8, &unknown), ElementsAre(3, 3, 5, 3));
  EXPECT_EQ(unknown.count(), 4u);
  EXPECT_THAT(unknown.warning("in"), HasSubstr("line 7 'é' (U+00E9), line 8 '</s>'"));
  EXPECT_THAT([&] { text.source().encode("a\xFF", 9); },
              ThrowsMessage<IoError>(HasSubstr("line 9: invalid UTF-8 at byte 2")));
}

TEST_F(TextProcessorTest, EveryOptionChangesWhatItNames) {
  const ParallelCorpus pairs =
      ParallelCorpus::open({file("n.tsv", "A\u030A B\tdas@@ selbe Haus\nb\tHaus\n")});
  TextOptions options;
  options.source = {.normalization = "nfc", .lower = true};
  options.target = {.tokenizer = "words", .join = "@@ ", .vocabulary_size = 6};
  const auto text = TextProcessor::build(options, pairs);
  EXPECT_THAT(text.source().vocabulary().symbols(),
              ElementsAre("<pad>", "<s>", "</s>", "<unk>", "b", " ", "\u00E5"));
  EXPECT_THAT(text.source().encode("\u00C5B"), ElementsAre(6, 4));
  EXPECT_EQ(text.source().reference("A\u030A B"), "\u00E5 b");
  EXPECT_EQ(text.target().size(), 6u);
  EXPECT_EQ(text.target().reference("das@@ selbe  Haus"), "dasselbe Haus");
  EXPECT_EQ(text.target().decode(text.target().encode("das@@ Haus")), "dasHaus");

  options.target = {.tokenizer = "words", .min_count = 2};
  EXPECT_THAT(TextProcessor::build(options, pairs).target().vocabulary().symbols(),
              ElementsAre("<pad>", "<s>", "</s>", "<unk>", "Haus"));
}

TEST_F(TextProcessorTest, JointSidesShareOneVocabulary) {
  TextOptions options;
  options.joint = true;
  const auto text = TextProcessor::build(options, corpus());
  EXPECT_EQ(&text.source().vocabulary(), &text.target().vocabulary());
  EXPECT_THAT(text.source().encode("hund"), Each(Ge(4)));
  options.target.tokenizer = "words";
  EXPECT_THAT(
      [&] { TextProcessor::build(options, corpus()); },
      ThrowsMessage<InvalidArgument>(HasSubstr("joint vocabulary needs the same tokenizer")));
}

TEST_F(TextProcessorTest, ModelDirectoriesGiveTheSameText) {
  for (const bool joint : {false, true}) {
    for (const char* tokenizer : {"chars", "words", "bytes", "sentencepiece"}) {
      TextOptions options;
      options.joint = joint;
      options.source = {
          .tokenizer = tokenizer, .normalization = "nfkc", .lower = true, .vocabulary_size = 300};
      options.target = options.source;
      options.target.join = "@@ ";
      const auto text = TextProcessor::build(options, ParallelCorpus::open({sentences()}));
      const auto back = reloaded(text);
      EXPECT_EQ(back.to_json(), text.to_json()) << tokenizer;
      EXPECT_EQ(back.joint(), joint);
      for (const char* line : {"The small House 7", "das kleine ﬁ", "☃"}) {
        EXPECT_EQ(back.source().encode(line), text.source().encode(line)) << tokenizer << line;
        EXPECT_EQ(back.target().encode(line), text.target().encode(line)) << tokenizer << line;
      }
      EXPECT_EQ(text.target().decode(back.target().encode("das kleine haus 7")),
                "das kleine haus 7");
      fs::remove_all(folder_ / "model");
      fs::create_directories(folder_ / "model");
    }
  }
}

TEST_F(TextProcessorTest, AGivenSentencePieceModelKeepsItsIds) {
  TextOptions options;
  options.source.tokenizer = options.target.tokenizer = "sentencepiece";
  options.source.vocabulary_size = options.target.vocabulary_size = 60;
  const auto trained = TextProcessor::build(options, ParallelCorpus::open({sentences()}));
  trained.save(folder_ / "model");
  options.source.tokenizer = (folder_ / "model" / "source_sentencepiece.model").string();
  const auto given = TextProcessor::build(options, corpus());
  EXPECT_EQ(given.source().vocabulary().symbols(), trained.source().vocabulary().symbols());
  EXPECT_EQ(given.source().encode("the hill"), trained.source().encode("the hill"));
  options.source.tokenizer = "none.model";
  EXPECT_THROW(TextProcessor::build(options, corpus()), IoError);
}

TEST_F(TextProcessorTest, DamagedDirectoriesAreNamed) {
  TextOptions options;
  options.target.tokenizer = "sentencepiece";
  options.target.vocabulary_size = 60;
  const auto text = TextProcessor::build(options, ParallelCorpus::open({sentences()}));
  text.save(folder_ / "model");
  const auto error = [&](const char* key, const Json& value, const char* what) {
    Json json = text.to_json();
    json[Json::json_pointer(key)] = value;
    EXPECT_THAT([&] { TextProcessor::load(folder_ / "model", JsonObject(json, "config.json")); },
                ThrowsMessage<IoError>(HasSubstr(what)));
  };
  error("/ids/eos", 100000, "config.json: ids: eos: expected an integer from 0 to ");
  error("/ids/eos", nullptr, "config.json: ids: eos: expected an integer");
  error("/ids/eos", 3, "eos: is the same as unk");
  error("/target/tokenizer", "magic",
        "target: tokenizer: expected chars | words | bytes | sentencepiece");
  error("/target/magic", 1, "target: magic: unknown key");
  error("/source/ids/suppressed", {-1}, "source: ids: suppressed: expected integers");
  error("/vocabulary", "joint", "vocabulary.json: cannot open");
  write_symbols(folder_ / "model" / "target_vocabulary.json", text.source().vocabulary().symbols());
  error("/target/lower", false,
        "target_vocabulary.json: does not belong to target_sentencepiece.model");
  fs::remove(folder_ / "model" / "target_sentencepiece.model");
  error("/target/lower", false, "target_sentencepiece.model: cannot open");
}

TEST_F(TextProcessorTest, StreamsKeepTheirNewlines) {
  const fs::path path = file("text", "To be, or not\n\nto be\nthat is the question, to be\n");
  const std::string sample = "to be\n\nthat is\n";
  for (const char* tokenizer : {"chars", "words", "bytes", "sentencepiece"}) {
    SideOptions options;
    options.tokenizer = tokenizer;
    options.vocabulary_size = std::string(tokenizer) == "sentencepiece" ? 40 : 0;
    const auto text = TextProcessor::build(options, TextStream(path));
    EXPECT_FALSE(text.has_source());
    ASSERT_TRUE(text.target().newline().has_value()) << tokenizer;
    EXPECT_EQ(text.target().ids().decoder_start, text.target().newline());
    UnknownSymbols unknown;
    const std::vector<int32_t> ids = text.target().encode_text(sample, &unknown);
    EXPECT_EQ(text.target().decode(ids), sample) << tokenizer;
    EXPECT_EQ(std::count(ids.begin(), ids.end(), *text.target().newline()), 3) << tokenizer;
    EXPECT_EQ(unknown.count(), 0u);
    EXPECT_EQ(reloaded(text).target().encode_text(sample), ids) << tokenizer;
  }
}

// More words than a thread keeps in its own table, in more lines than it takes at once.
TEST_F(TextProcessorTest, TheNumberOfThreadsChangesNoVocabulary) {
  std::string text;
  for (uint32_t i = 0; i < 90'000; ++i) {
    const PhiloxBlock draw = philox({i, 0, 0, 0}, 8);
    text += concat("w", draw[0] % 300'000, " ", draw[1] % 50, "\tß", draw[2] % 500, "\n");
  }
  const fs::path path = file("many.tsv", text);
  for (const bool joint : {false, true}) {
    TextOptions options;
    options.joint = joint;
    options.source.tokenizer = options.target.tokenizer = "words";
    const auto alone = TextProcessor::build(options, ParallelCorpus::open({path}));
    EXPECT_GT(alone.source().size(), size_t{1} << 16);
    for (const size_t threads : {1, 2, 3}) {
      Pool pool(threads);
      const auto shared =
          TextProcessor::build(options, ParallelCorpus::open({path}, {}, &pool), &pool);
      EXPECT_EQ(shared.source().vocabulary().symbols(), alone.source().vocabulary().symbols());
      EXPECT_EQ(shared.target().vocabulary().symbols(), alone.target().vocabulary().symbols());
    }
  }
}

TEST_F(TextProcessorTest, DisplayShowsWhatIsInvisible) {
  SideOptions options;
  const TextStream stream(file("text", "a b\u200B\n"));
  const auto chars = TextProcessor::build(options, stream).target();
  const auto shown = [](const TextSide& side, std::string_view text) {
    return side.display(side.encode_text(text).at(0));
  };
  EXPECT_EQ(shown(chars, " "), "␣");
  EXPECT_EQ(shown(chars, "\n"), "⏎");
  EXPECT_EQ(shown(chars, "\u200B"), "\\u200B");
  EXPECT_EQ(chars.display(2), "</s>");
  options.tokenizer = "bytes";
  const auto bytes = TextProcessor::build(options, stream).target();
  EXPECT_EQ(shown(bytes, "a"), "a");
  EXPECT_EQ(shown(bytes, " "), "␣");
  EXPECT_EQ(shown(bytes, "\n"), "⏎");
  EXPECT_EQ(shown(bytes, "é"), "<0xC3>");
}

TEST_F(TextProcessorTest, WrongOptionsAreTheCallersMistake) {
  TextOptions options;
  options.source.tokenizer = "magic";
  EXPECT_THAT([&] { TextProcessor::build(options, corpus()); },
              ThrowsMessage<InvalidArgument>(HasSubstr("tokenizer \"magic\": expected chars")));
  options.source = {.normalization = "magic"};
  EXPECT_THROW(TextProcessor::build(options, corpus()), InvalidArgument);
}

}  // namespace
}  // namespace rapt

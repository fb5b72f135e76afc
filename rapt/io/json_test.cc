#include "rapt/io/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <cmath>

#include "rapt/base/check.h"
#include "rapt/base/philox.h"

namespace rapt {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

Json parse(std::string_view text, JsonLimits limits = {}) {
  return parse_json(text, "config.json", limits);
}

TEST(Json, RefusesWhatIsDamagedOrAmbiguous) {
  const auto error = [](std::string_view text, const char* what) {
    EXPECT_THAT([=] { parse(text); }, ThrowsMessage<IoError>(HasSubstr(what))) << text;
  };
  error("", "config.json: invalid JSON");
  error("{", "invalid JSON");
  error("{} x", "invalid JSON");
  error("{\"a\":1,}", "invalid JSON");
  error("{\"a\":1,\"a\":2}", "repeated key \"a\"");
  error("{\"x\":{\"a\":1,\"a\":2}}", "repeated key \"a\"");
  error("[1e999]", "number out of range");
  error("\"\xFF\"", "invalid UTF-8 at byte 2");
  error(std::string_view("{}\0", 3), "NUL byte");
  error("[NaN]", "invalid JSON");
}

TEST(Json, LimitsSizeAndDepth) {
  EXPECT_NO_THROW(parse("[[1]]", {.bytes = 5, .depth = 2}));
  EXPECT_THAT([] { parse("[[1]]", {.bytes = 4}); }, ThrowsMessage<IoError>(HasSubstr("at most 4")));
  EXPECT_THAT([] { parse("[[1]]", {.depth = 1}); },
              ThrowsMessage<IoError>(HasSubstr("more than 1 levels")));
  EXPECT_THROW(parse(std::string(1000000, '[')), IoError);
  std::string keys;
  for (int i = 0; i < 5000; ++i) keys += concat(i == 0 ? "{" : ",", '"', i, "\":0");
  EXPECT_THAT([&] { parse(keys + "}"); }, ThrowsMessage<IoError>(HasSubstr("more than 4096 keys")));
}

TEST(Json, BuildsTheDocumentInItsOrder) {
  const char* text = R"({"z":[1,-2,3.5,[],{}],"a":{"k":null,"b":true},"s":"ß\n"})";
  EXPECT_EQ(parse(text).dump(), text);
  EXPECT_EQ(parse("7"), 7);
}

TEST(Json, ChangedBytesGiveADocumentOrAnError) {
  const std::string good = R"({"a":[1,-2,3.5e1,"ß\u00e9"],"b":{"c":null,"d":true}})";
  for (uint32_t i = 0; i < 5000; ++i) {
    const PhiloxBlock draw = philox({i, 0, 0, 0}, 9);
    std::string text = good;
    text[draw[0] % text.size()] = static_cast<char>(draw[1]);
    if (draw[2] % 4 == 0) text.resize(draw[3] % text.size());
    try {
      const Json json = parse(text);
      EXPECT_EQ(parse(json.dump()), json);
    } catch (const IoError& error) {
      EXPECT_THAT(error.what(), testing::StartsWith("config.json: "));
    }
  }
}

TEST(JsonObject, ErrorsNameFileAndKey) {
  const Json json = parse(R"({"n":5,"x":0.5,"s":"big","neg":-1,"huge":18446744073709551615,
                              "real":1.0,"list":[1,2],"o":{"k":"v"},"none":null})");
  const JsonObject object(json, "config.json");
  EXPECT_EQ(object.integer("n", 1, 5), 5);
  EXPECT_EQ(object.number("x", 0, 1), 0.5);
  EXPECT_EQ(object.number("n", 0, 9), 5.0);
  EXPECT_EQ(object.string("s"), "big");
  EXPECT_EQ(object.choice("s", {"small", "big"}), "big");
  EXPECT_THAT(object.integers("list", 0, 9), ElementsAre(1, 2));
  EXPECT_THAT(object.numbers("list", 0, 9), ElementsAre(1.0, 2.0));
  EXPECT_THAT(object.object("o").keys(), ElementsAre("k"));
  EXPECT_EQ(object.object("o").string("k"), "v");
  EXPECT_TRUE(object.is_null("none"));
  EXPECT_FALSE(object.has("nothing"));

  const auto error = [](const auto& call, const std::string& what) {
    EXPECT_THAT(call, ThrowsMessage<IoError>(HasSubstr(what)));
  };
  error([&] { object.integer("n", 1, 4); },
        "config.json: n: expected an integer from 1 to 4, found 5");
  error([&] { object.integer("missing", 1, 4); }, "config.json: missing: missing");
  error([&] { object.integer("s", 1, 4); }, "found \"big\"");
  error([&] { object.integer("neg", 0, 4); }, "found -1");
  error([&] { object.integer("huge", INT64_MIN, INT64_MAX); }, "found 18446744073709551615");
  error([&] { object.integer("real", 0, 4); }, "found 1.0");
  error([&] { object.integers("list", 0, 1); }, "expected integers from 0 to 1, found 2");
  error([&] { object.numbers("list", 0, 1); }, "expected numbers from 0 to 1, found 2");
  error([&] { object.numbers("n", 0, 1); }, "n: expected an array of numbers, found 5");
  error([&] { object.number("x", 1, 2); }, "x: expected a number from 1 to 2, found 0.5");
  error([&] { object.boolean("n"); }, "n: expected true or false, found 5");
  error([&] { object.string("n"); }, "n: expected a string, found 5");
  error([&] { object.choice("s", {"a", "b"}); }, "s: expected a | b, found \"big\"");
  error([&] { object.object("n"); }, "config.json: n: expected a JSON object, found 5");
  error([&] { object.object("o").string("q"); }, "config.json: o: q: missing");
  error([&] { object.refuse_unknown({"n"}); }, "x: unknown key");
  EXPECT_NO_THROW(object.object("o").refuse_unknown({"k", "other"}));
}

// Every number reads back as itself: random bit patterns, and the ends of the range.
TEST(Json, FloatsAreWrittenShortestAndReadBack) {
  EXPECT_EQ(shortest(0.1f), "0.1");
  EXPECT_EQ(shortest(0.1), "0.1");
  EXPECT_EQ(Json(json_number(0.1f)).dump(), "0.1");
  EXPECT_TRUE(json_number(NAN).is_null());
  EXPECT_TRUE(json_number(INFINITY).is_null());
  for (uint32_t i = 0; i < 20000; ++i) {
    const float x = std::bit_cast<float>(philox({i, 0, 0, 0}, 1)[0]);
    if (!std::isfinite(x)) continue;
    EXPECT_EQ(static_cast<float>(parse(concat("[", shortest(x), "]"))[0].get<double>()), x);
    EXPECT_EQ(static_cast<float>(parse(Json::array({json_number(x)}).dump())[0].get<double>()), x);
  }
  for (const double x : {5e-324, 1.7976931348623157e308, 1.0 / 3, -0.0}) {
    EXPECT_EQ(parse(concat("[", shortest(x), "]"))[0].get<double>(), x);
  }
}

TEST(Json, FilesAreWrittenAndReadBack) {
  const fs::path path =
      fs::temp_directory_path() / ("rapt_json_test-" + std::to_string(::getpid()));
  const Json value = {{"b", 1}, {"a", {1.5, "ß"}}};
  write_json(path, value);
  EXPECT_EQ(read_json(path), value);
  EXPECT_EQ(read_file(path, 100).back(), '\n');
  EXPECT_THAT([&] { read_json(path, {.bytes = 3}); },
              ThrowsMessage<IoError>(HasSubstr("at most 3")));
  fs::remove(path);
  EXPECT_THROW(read_json(path), IoError);
}

}  // namespace
}  // namespace rapt

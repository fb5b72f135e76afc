#include "rapt/io/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <fstream>

#include "rapt/base/check.h"
#include "rapt/base/philox.h"

namespace rapt {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using testing::ThrowsMessage;

std::string little_endian(uint64_t x) {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &x, 8);
  return bytes;
}
std::string file_of(const std::string& header, size_t data_bytes) {
  return little_endian(header.size()) + header + std::string(data_bytes, '\1');
}
std::string entry(const char* name, const char* dtype, const char* shape, const char* offsets) {
  return concat('"', name, "\":{\"dtype\":\"", dtype, "\",\"shape\":", shape,
                ",\"data_offsets\":", offsets, '}');
}

class SafetensorsTest : public testing::Test {
 protected:
  SafetensorsTest()
      : path_(fs::temp_directory_path() / concat("rapt_test-", ::getpid(), ".safetensors")) {}
  ~SafetensorsTest() override { fs::remove(path_); }
  static void put(const fs::path& path, std::string_view bytes) {  // without waiting for the disk
    std::ofstream(path, std::ios::binary) << bytes;
  }
  SafetensorsFile open(const std::string& bytes) const {
    put(path_, bytes);
    return SafetensorsFile(path_);
  }
  void accepts(const std::string& bytes, size_t tensors) const {
    EXPECT_NO_THROW(EXPECT_EQ(open(bytes).tensors().size(), tensors)) << bytes;
  }
  void refuses(const std::string& bytes, const char* what) const {
    put(path_, bytes);
    EXPECT_THAT([this] { SafetensorsFile{path_}; },
                ThrowsMessage<IoError>(AllOf(StartsWith(path_.string()), HasSubstr(what))))
        << bytes.substr(0, 300);
  }

  const fs::path path_;
};

TEST_F(SafetensorsTest, RoundTripKeepsEveryBit) {
  TensorMap tensors;
  std::vector<float> values(24);
  for (uint32_t i = 0; i < values.size(); ++i) {
    values[i] = std::bit_cast<float>(philox({i, 0, 0, 0}, 7)[0]);  // NaN with payload among them
  }
  values[3] = std::bit_cast<float>(0x7FC12345u);
  values[4] = -0.0f;
  tensors["b.weight"] = Tensor::of({4, 6}, values);
  tensors["a.bias"] = Tensor::of({3}, std::span(values).first(3));
  tensors["scalar"] = Tensor::of({}, std::span(values).first(1));
  tensors["none"] = Tensor::of({2, 0}, {});
  tensors["näme \"quoted\""] = Tensor::of({1, 1, 1, 2}, std::span(values).first(2));
  write_safetensors(path_, tensors, {{"step", "7"}});

  const SafetensorsFile file(path_);
  EXPECT_THAT(file.metadata(), ElementsAre(std::pair("format", "pt"), std::pair("step", "7")));
  const TensorMap back = read_safetensors(path_);
  ASSERT_EQ(back.size(), tensors.size());
  for (const auto& [name, tensor] : tensors) {
    const Tensor& read = back.at(name);
    EXPECT_EQ(read.shape(), tensor.shape()) << name;
    EXPECT_EQ(std::memcmp(read.data(), tensor.data(), tensor.size() * sizeof(float)), 0) << name;
  }
  EXPECT_EQ(file.find("b.weight")->describe(), "F32 [4, 6]");
  EXPECT_EQ(file.find("c"), nullptr);
}

// The bytes as the format's own writer lays them out: names in order, spaces up to eight bytes.
TEST_F(SafetensorsTest, WritesTheBytesOfTheFormat) {
  TensorMap tensors;
  const std::vector<float> values = {1, 2};
  tensors["w"] = Tensor::of({1, 2}, values);
  tensors["b"] = Tensor::of({1}, std::span(values).first(1));
  write_safetensors(path_, tensors);
  std::string header =
      R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
      R"("w":{"dtype":"F32","shape":[1,2],"data_offsets":[4,12]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  std::string expected = little_endian(header.size()) + header;
  for (const float x : {1.0f, 1.0f, 2.0f}) expected.append(reinterpret_cast<const char*>(&x), 4);
  EXPECT_EQ(read_file(path_, 1000), expected);
}

TEST_F(SafetensorsTest, ConvertsHalfBfloatAndDouble) {
  const std::string header = "{" + entry("f16", "F16", "[6]", "[0,12]") + "," +
                             entry("bf16", "BF16", "[2]", "[12,16]") + "," +
                             entry("f64", "F64", "[2]", "[16,32]") + "}";
  std::string bytes = little_endian(header.size()) + header;
  const auto append = [&](const auto& values) {
    bytes.append(reinterpret_cast<const char*>(values.data()), sizeof(values));
  };
  append(std::array<uint16_t, 6>{0x3C00, 0xC248, 0x0001, 0x7BFF, 0xFC00, 0x8000});
  append(std::array<uint16_t, 2>{0x3FC0, 0xFF80});
  append(std::array<double, 2>{0.1, -1e300});
  const SafetensorsFile file = open(bytes);
  const auto read = [&](const char* name) {
    const Tensor tensor = file.read(*file.find(name));
    return std::vector<float>(tensor.host().begin(), tensor.host().end());
  };
  const std::vector<float> f16 = read("f16");
  EXPECT_THAT(f16, ElementsAre(1.0f, -3.140625f, 0x1p-24f, 65504.0f, -INFINITY, 0.0f));
  EXPECT_TRUE(std::signbit(f16[5]));
  EXPECT_THAT(read("bf16"), ElementsAre(1.5f, -INFINITY));
  EXPECT_THAT(read("f64"), ElementsAre(0.1f, -INFINITY));
}

TEST_F(SafetensorsTest, UnsupportedIsNotDamaged) {
  const SafetensorsFile file = open(file_of("{" + entry("a", "I64", "[1]", "[0,8]") + "," +
                                                entry("b", "F32", "[1,1,1,1,1]", "[8,12]") + "}",
                                            12));
  EXPECT_THAT([&] { file.read(*file.find("a")); },
              ThrowsMessage<IoError>(HasSubstr("a: dtype I64 is unsupported")));
  EXPECT_THAT([&] { file.read(*file.find("b")); },
              ThrowsMessage<IoError>(HasSubstr("F32 [1, 1, 1, 1, 1] is unsupported")));
}

TEST_F(SafetensorsTest, AcceptsWhatTheReferenceAccepts) {
  accepts(file_of("{}", 0), 0);
  accepts(file_of("{}\r \t\n", 0), 0);
  accepts(file_of("\t\n{}", 0), 0);
  accepts(file_of(R"({"__metadata__":{"a":"b"}})", 0), 0);
  accepts(file_of(R"({"__metadata__":null})", 0), 0);
  accepts(file_of("{" + entry("s", "F32", "[]", "[0,4]") + "}", 4), 1);
  accepts(file_of("{" + entry("z", "F32", "[2,0]", "[0,0]") + "}", 0), 1);
  accepts(file_of("{" + entry("f", "F4", "[1,2]", "[0,1]") + "}", 1), 1);
  // Not in the order of names, not aligned: another writer's file.
  accepts(file_of("{" + entry("z", "U8", "[3]", "[0,3]") + "," + entry("a", "F32", "[1]", "[3,7]") +
                      "}",
                  7),
          2);
}

TEST_F(SafetensorsTest, RefusesWrongLengths) {
  refuses("", "0 bytes, too short");
  refuses(std::string(7, '\0'), "too short");
  refuses(little_endian(0xFFFFFFFFFFFFFFF8) + "{}", "expected 2 to 100000000");
  refuses(std::string("\x3C\0\0\0\0\0\xFF\xFF{}", 10), "expected 2 to 100000000");
  refuses(little_endian(60) + "{}", "declares 60: incomplete download or copy?");
  refuses(little_endian(3) + "{}", "declares 3");
  refuses(little_endian(1) + "{ ", "header of 1 bytes");
  refuses(file_of("{" + entry("w", "F32", "[1]", "[0,4]") + "}", 2), "incomplete download");
  refuses(file_of("{" + entry("w", "F32", "[1]", "[0,4]") + "}", 4 + 34), "bytes too many");
}

TEST_F(SafetensorsTest, RefusesHeadersThatAreNotThatJson) {
  refuses(file_of("\xFF ", 0), "does not start with '{'");
  refuses(file_of("{\"\xFF\":1}", 0), "invalid UTF-8 at byte 3");
  refuses(file_of("{ ", 0), "invalid JSON");
  refuses(file_of("[]", 0), "does not start with '{'");
  refuses(file_of("\xEF\xBB\xBF{}", 0), "does not start with '{'");
  refuses(file_of(std::string("{}\0\0", 4), 0), "NUL byte");
  refuses(file_of("{}{}", 0), "invalid JSON");
  refuses(file_of("{\"a\":" + std::string(100000, '['), 0), "unexpected an array");
  refuses(file_of("{\"a\":" + std::string(100000, '{'), 0), "invalid JSON");
  refuses(file_of(R"({"__metadata__":7})", 0), "unexpected a number");
  refuses(file_of(R"({"__metadata__":{"a":7}})", 0), "unexpected a number in a");
  refuses(file_of(R"({"__metadata__":{"a":{}}})", 0), "unexpected an object");
  refuses(file_of(R"({"__metadata__":{"a":"b","a":"c"}})", 0), "repeated key \"a\"");
  refuses(file_of(R"({"__metadata__":{},"__metadata__":{}})", 0), "repeated key \"__metadata__\"");
  refuses(file_of(R"({"w":7})", 0), "w: unexpected a number");
  refuses(file_of(R"({"w":{}})", 0), "w: dtype, shape or data_offsets is missing");
  refuses(file_of(R"({"w":{"dtype":"F32","dtype":"F32"}})", 0), "repeated key \"dtype\"");
  refuses(file_of(R"({"w":{"x":1}})", 0), "unknown field \"x\"");
}

TEST_F(SafetensorsTest, RefusesNumbersThatAreNoSizes) {
  for (const char* size :
       {"-1", "1.0", "1e3", "18446744073709551616", "\"1\"", "null", "[1]", "true"}) {
    refuses(file_of("{" + entry("w", "U8", concat("[", size, "]").c_str(), "[0,1]") + "}", 1),
            "w: ");
    refuses(file_of("{" + entry("w", "U8", "[1]", concat("[0,", size, "]").c_str()) + "}", 1),
            "w: ");
  }
  refuses(file_of("{" + entry("w", "U8", "[1]", "[0]") + "}", 1), "must be two numbers");
  refuses(file_of("{" + entry("w", "U8", "[1]", "[0,1,1]") + "}", 1), "must be two numbers");
  refuses(file_of("{" + entry("w", "U8", "1", "[0,1]") + "}", 1), "unexpected a number");
  refuses(file_of("{" + entry("w", "U8", "[1,1,1,1,1,1,1,1,1]", "[0,1]") + "}", 1), "rank over 8");
  refuses(file_of("{" + entry("w", "nonsense", "[1]", "[0,1]") + "}", 1),
          "\"nonsense\" is unsupported");
}

TEST_F(SafetensorsTest, RefusesShapesThatLie) {
  refuses(file_of("{" + entry("w", "I32", "[2,2]", "[0,4]") + "}", 4), "needs 16 bytes");
  refuses(file_of("{" + entry("w", "I32", "[2,18446744073709551614]", "[0,16]") + "}", 16),
          "overflows");
  refuses(file_of("{" + entry("w", "I32", "[2,9223372036854775807]", "[0,16]") + "}", 16),
          "overflows");
  refuses(file_of("{" + entry("w", "U8", "[4294967296,4294967296]", "[0,0]") + "}", 0),
          "overflows");
  refuses(
      file_of("{" + entry("w", "U8", "[9223372036854775808,9223372036854775808,0]", "[0,0]") + "}",
              0),
      "overflows");
  refuses(file_of("{" + entry("w", "F4", "[1,3]", "[0,2]") + "}", 2), "whole bytes");
  refuses(file_of("{" + entry("w", "F4", "[1,2]", "[0,2]") + "}", 2), "needs 1 bytes");
  refuses(file_of("{" + entry("w", "U8", "[4]", "[4,0]") + "}", 4), "data_offsets are [4, 0]");
  refuses(file_of("{" + entry("w", "U8", "[4]", "[18446744073709551612,0]") + "}", 4),
          "data_offsets");
}

TEST_F(SafetensorsTest, RefusesHolesOverlapsAndAliases) {
  std::string aliases;
  for (int i = 0; i < 10; ++i) {
    if (i > 0) aliases += ',';
    aliases += entry(concat("t", i).c_str(), "F32", "[2,2]", "[0,16]");
  }
  refuses(file_of("{" + aliases + "}", 16), "values start at byte 0, expected 16");
  const auto pair = [](const char* a, const char* b) {
    return "{" + entry("a", "U8", "[4]", a) + "," + entry("b", "U8", "[4]", b) + "}";
  };
  accepts(file_of(pair("[4,8]", "[0,4]"), 8), 2);
  refuses(file_of(pair("[0,4]", "[5,9]"), 9), "b: values start at byte 5, expected 4");
  refuses(file_of(pair("[0,4]", "[3,7]"), 7), "b: values start at byte 3, expected 4");
  refuses(file_of(pair("[8,12]", "[12,16]"), 16), "a: values start at byte 8, expected 0");
  refuses(
      file_of("{" + entry("a", "U8", "[8]", "[0,8]") + "," + entry("z", "U8", "[0]", "[4,4]") + "}",
              8),
      "z: values start at byte 4");
  // Two entries of one name: readers that keep the last and readers that keep the first differ.
  refuses(file_of("{" + entry("w", "U8", "[4]", "[0,4]") + "," + entry("w", "F32", "[1]", "[0,4]") +
                      "}",
                  4),
          "w: values start at byte 0");
  refuses(
      file_of("{" + entry("w", "U8", "[0]", "[0,0]") + "," + entry("w", "U8", "[4]", "[0,4]") + "}",
              4),
      "\"w\" occurs twice");
}

TEST_F(SafetensorsTest, RefusesNamesThatHarmAndCrowds) {
  refuses(file_of("{" + entry("", "U8", "[1]", "[0,1]") + "}", 1), "expected 1 to 512 bytes");
  refuses(file_of("{" + entry("a\\u0000b", "U8", "[1]", "[0,1]") + "}", 1), "control character");
  refuses(file_of("{" + entry("a\\u001b[2J", "U8", "[1]", "[0,1]") + "}", 1), "a\\x1B[2J");
  refuses(file_of("{" + entry(std::string(1 << 20, 'n').c_str(), "U8", "[1]", "[0,1]") + "}", 1),
          "expected 1 to 512 bytes");
  std::string crowd;
  for (size_t i = 0; i <= SafetensorsFile::kMaxTensors; ++i) {
    crowd += i == 0 ? '{' : ',';
    crowd += entry(concat(i).c_str(), "U8", "[0]", "[0,0]");
  }
  refuses(file_of(crowd + "}", 0), "more than 131072 tensors");
}

TEST_F(SafetensorsTest, RefusesToWriteWhatItWouldNotRead) {
  const std::vector<float> one = {1};
  EXPECT_THROW(write_safetensors(path_, {{"", Tensor::of({1}, one)}}), IoError);
  EXPECT_THROW(write_safetensors(path_, {{"__metadata__", Tensor::of({1}, one)}}), IoError);
  EXPECT_THROW(write_safetensors(path_, {{"w", Tensor()}}), InvalidArgument);
  EXPECT_FALSE(fs::exists(path_));
}

// No bytes crash the reader: a good file, cut at every place and with one byte changed at every
// place, either reads or throws an error that names it.
TEST_F(SafetensorsTest, EveryCutAndEveryChangedByteIsAnErrorOrAFile) {
  const std::vector<float> values(6, 1.0f);
  write_safetensors(path_, {{"a", Tensor::of({2, 3}, values)},
                            {"b", Tensor::of({}, std::span(values).first(1))}});
  const std::string good = read_file(path_, 10000);
  const fs::path other = path_.string() + "-changed";
  const auto attempt = [&](const std::string& bytes) {
    put(other, bytes);
    try {
      read_safetensors(other);
    } catch (const IoError& error) {
      EXPECT_THAT(error.what(), StartsWith(other.string()));
    }
  };
  for (size_t cut = 0; cut < good.size(); ++cut) {
    put(other, std::string_view(good).substr(0, cut));
    EXPECT_THROW(read_safetensors(other), IoError) << cut;
  }
  for (size_t at = 0; at < good.size(); ++at) {
    for (uint32_t round = 0; round < 3; ++round) {
      std::string bytes = good;
      bytes[at] = static_cast<char>(philox({static_cast<uint32_t>(at), round, 0, 0}, 3)[0]);
      attempt(bytes);
    }
  }
  fs::remove(other);
}

}  // namespace
}  // namespace rapt

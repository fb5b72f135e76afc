#include "rapt/train/sha256.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace rapt {
namespace {

std::string sum(std::string_view text, size_t piece = 1000000) {
  Sha256 sha;
  for (size_t i = 0; i < text.size(); i += piece) {
    sha.update(std::as_bytes(std::span(text.substr(i, piece))));
  }
  return sha.hex();
}

// The examples of FIPS 180-2, appendix B, and the empty message.
TEST(Sha256, GivesThePublishedSums) {
  EXPECT_EQ(sum(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sum("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sum("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sum(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PiecesMakeNoDifference) {
  for (const size_t size : {1, 55, 56, 63, 64, 65, 119, 120, 128, 300}) {
    const std::string text(size, 'x');
    for (const size_t piece : {1, 7, 64, 100}) EXPECT_EQ(sum(text, piece), sum(text)) << size;
  }
}

TEST(Sha256, ReadsAFile) {
  const fs::path path = fs::path(testing::TempDir()) / "sha256_test";
  write_file(path, std::string((size_t{1} << 20) + 17, 'b'));
  EXPECT_EQ(sha256_of_file(path), sum(std::string((size_t{1} << 20) + 17, 'b')));
  fs::remove(path);
}

}  // namespace
}  // namespace rapt

#include "rapt/text/normalize.h"

#include <unicode/bytestream.h>
#include <unicode/casemap.h>
#include <unicode/normalizer2.h>

#include <algorithm>
#include <array>
#include <utility>

#include "rapt/base/check.h"
#include "rapt/base/utf8.h"

namespace rapt {
namespace {

constexpr std::array<std::pair<std::string_view, Normalization>, 4> kNames = {{
    {"none", Normalization::kNone},
    {"nfc", Normalization::kNfc},
    {"nfd", Normalization::kNfd},
    {"nfkc", Normalization::kNfkc},
}};

void check_icu(UErrorCode status) {
  check(U_SUCCESS(status), "Unicode data: ", u_errorName(status));
}

const icu::Normalizer2& normalizer(Normalization form) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* instance =
      form == Normalization::kNfc   ? icu::Normalizer2::getNFCInstance(status)
      : form == Normalization::kNfd ? icu::Normalizer2::getNFDInstance(status)
                                    : icu::Normalizer2::getNFKCInstance(status);
  check_icu(status);
  return *instance;
}

std::string lowered(std::string_view text) {
  std::string result;
  icu::StringByteSink<std::string> sink(&result);
  UErrorCode status = U_ZERO_ERROR;
  icu::CaseMap::utf8ToLower("", 0, {text.data(), static_cast<int32_t>(text.size())}, sink, nullptr,
                            status);
  check_icu(status);
  return result;
}

std::string formed(std::string_view text, Normalization form) {
  std::string result;
  icu::StringByteSink<std::string> sink(&result);
  UErrorCode status = U_ZERO_ERROR;
  normalizer(form).normalizeUTF8(0, {text.data(), static_cast<int32_t>(text.size())}, sink, nullptr,
                                 status);
  check_icu(status);
  return result;
}

char ascii_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

}  // namespace

Normalization normalization_of(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(), ascii_lower);
  for (const auto& [known, form] : kNames) {
    if (lower == known) return form;
  }
  throw InvalidArgument(
      concat("normalization \"", printable(name, 40), "\": expected none, nfc, nfd or nfkc"));
}

std::string_view name_of(Normalization form) { return kNames[static_cast<size_t>(form)].first; }

std::string normalized(std::string_view text, Normalization form, bool lower) {
  std::string buffer;
  return std::string(normalized(text, form, lower, buffer));
}

std::string_view normalized(std::string_view text, Normalization form, bool lower,
                            std::string& buffer) {
  check(text.size() < size_t{1} << 30, "normalization of ", text.size(),
        " bytes at once, expected less than 2^30");
  if (!lower && form == Normalization::kNone) return text;
  if (utf8_ascii_end(text) == text.size()) {
    if (!lower) return text;
    buffer.resize(text.size());
    std::transform(text.begin(), text.end(), buffer.begin(), ascii_lower);
    return buffer;
  }
  if (!lower) return buffer = formed(text, form);
  buffer = lowered(text);
  if (form != Normalization::kNone) buffer = formed(buffer, form);
  return buffer;
}

}  // namespace rapt

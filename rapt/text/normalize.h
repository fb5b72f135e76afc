// Unicode normalisation (UAX #15) and lower case (root locale, full mappings), by ICU.
#pragma once
#include <string>
#include <string_view>

namespace rapt {

enum class Normalization { kNone, kNfc, kNfd, kNfkc };

Normalization normalization_of(std::string_view name);  // none | nfc | nfd | nfkc, any case
std::string_view name_of(Normalization form);           // in lower case

// Lower case first, then the form, so that the result is in the form. `text` is valid UTF-8.
std::string normalized(std::string_view text, Normalization form, bool lower);
// The same: `text` itself where the form is its own (ASCII in any form), else what `buffer` got.
std::string_view normalized(std::string_view text, Normalization form, bool lower,
                            std::string& buffer);

}  // namespace rapt

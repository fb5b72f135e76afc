// The tokenisers of sacreBLEU (Post, 2018), which decide what BLEU calls a word:
//   13a   as mteval-v13a of NIST: ASCII punctuation apart, '.' and ',' inside numbers kept; default
//   intl  as mteval-v14 with international tokenisation: all punctuation and symbols of Unicode
//   char  every character
//   none  white space alone: for text that is tokenised already
#pragma once
#include <string>
#include <string_view>

namespace rapt::metrics {

enum class BleuTokenizer { k13a, kIntl, kChar, kNone };

// Throws InvalidArgument for a name that is not in the list above.
BleuTokenizer bleu_tokenizer(std::string_view name);
const char* name_of(BleuTokenizer tokenizer);

// The line with white space between its tokens (and perhaps around them).
std::string tokenize(BleuTokenizer tokenizer, std::string_view line);

}  // namespace rapt::metrics

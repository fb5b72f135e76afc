// Claims as a file: per claim the sentence, the experiment with its flags, and an inequality over
// the numbers that it measures.
//
//   [[claim]]
//   name = "deviation-512"
//   sentence = "At d_k = 512 the standard deviation of the scores is √512 ≈ 22.6."
//   sentence_ko = "…"                                # optional
//   experiment = "variance --d-k 512"
//   expect = "22.3 <= deviation <= 22.9"
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rapt/base/file.h"
#include "rapt/insight/claim.h"

namespace rapt::insight {

// Operands (numbers, or names of measured numbers) with <, <=, >, >= or == between them, all of
// which must be true. There is no arithmetic.
class Inequality {
 public:
  // Throws InvalidArgument for anything else; `where` is for messages, here and below.
  Inequality(std::string_view text, const std::string& where);

  struct Outcome {
    bool holds;
    std::string text;  // "22.3 <= deviation = 22.61 <= 22.9"
  };
  // Throws InvalidArgument when a name is not among the numbers. NaN makes it false.
  Outcome over(const std::vector<std::pair<std::string, double>>& numbers,
               const std::string& where) const;

 private:
  struct Operand {
    std::string name;  // empty: a number
    double number = 0;
  };
  std::vector<Operand> operands_;
  std::vector<std::string> comparisons_;  // one fewer
};

struct ClaimOnFile {
  std::string name, sentence, sentence_ko, experiment;
  std::string where;  // "claims.toml:12: deviation-512"
  Inequality expect;
};

// In the order of the file. IoError when it cannot be read, InvalidArgument, with the line, when it
// is not as above.
std::vector<ClaimOnFile> read_claims(const fs::path& path);

}  // namespace rapt::insight

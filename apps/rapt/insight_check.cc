// rapt insight check: a file of claims, each held against what its experiment measures.
#include "apps/rapt/insight_check.h"

#include <map>

#include "apps/rapt/exit_codes.h"
#include "apps/rapt/insight_claims.h"
#include "apps/rapt/output.h"
#include "rapt/insight/claims_file.h"

namespace rapt::app {
namespace {

using insight::ClaimOnFile;
using Numbers = std::vector<std::pair<std::string, double>>;

// Words between blanks; double quotes keep blanks together.
Arguments words_of(const std::string& text, const std::string& where) {
  Arguments words;
  bool quoted = false, open = false;
  for (const char c : text) {
    if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && (c == ' ' || c == '\t')) {
      open = false;
      continue;
    }
    if (!open) words.emplace_back();
    open = true;
    if (c != '"') words.back() += c;
  }
  check(!quoted, where, ": a quote in experiment is not closed");
  check(!words.empty(), where, ": experiment is empty");
  return words;
}

Inquiry inquiry_of(const ClaimOnFile& claim) {
  Arguments words = words_of(claim.experiment, claim.where);
  const std::string name = words.front();
  words.erase(words.begin());
  Inquiry inquiry;
  try {
    check(inquiry.parse(find_claim(name), words) && inquiry.common.out.empty(),
          "experiment takes neither --help nor --out");
  } catch (const CLI::ParseError& e) {
    throw InvalidArgument(concat(claim.where, ": ", e.what()));
  } catch (const InvalidArgument& e) {
    throw InvalidArgument(concat(claim.where, ": ", e.what()));
  }
  return inquiry;
}

}  // namespace

int insight_check_main(const Arguments& arguments) {
  CommandLine app("insight check",
                  "Runs the experiments of a file of claims and says of each claim whether it "
                  "holds. The exit code is 0 when all hold, else 1.",
                  "rapt insight check docs/notes/claims.toml");
  std::string file;
  size_t threads = 1;
  bool json = false;
  insight::Language language = insight::Language::kEnglish;
  app.add_option("file", file, "claims as TOML: name, sentence, experiment, expect")->required();
  add_choice(app, "--lang", language, "language of the sentences");
  app.add_flag("--json", json, "one JSON object a claim");
  app.add_threads(threads);
  if (!app.parse_arguments(arguments)) return kDone;

  const std::vector<ClaimOnFile> claims = insight::read_claims(file);
  std::vector<Inquiry> inquiries;  // all are read before the first is run
  for (const ClaimOnFile& claim : claims) inquiries.push_back(inquiry_of(claim));
  Pool pool(threads);
  std::map<std::string, Numbers> measured;  // equal experiments run once
  size_t holding = 0;
  for (size_t i = 0; i < claims.size(); ++i) {
    const ClaimOnFile& claim = claims[i];
    const auto [at, fresh] = measured.try_emplace(inquiries[i].command);
    if (fresh) at->second = inquiries[i].run(pool).numbers;
    const auto outcome = claim.expect.over(at->second, claim.where);
    holding += outcome.holds ? 1 : 0;
    const bool korean = language == insight::Language::kKorean;
    const std::string& sentence = korean ? claim.sentence_ko : claim.sentence;
    if (json) {
      print_json({{"name", claim.name},
                  {"holds", outcome.holds},
                  {"sentence", sentence},
                  {"measured", outcome.text},
                  {"command", inquiries[i].command}});
    } else {
      const std::string_view word =
          korean ? (outcome.holds ? "성립" : "실패") : (outcome.holds ? "holds" : "FAILS");
      print_line(concat(word, "  ", claim.name, ": ", sentence, "\n       ", outcome.text, "   (",
                        inquiries[i].command, ')'));
    }
    flush();
  }
  if (!json) {
    print_line(language == insight::Language::kKorean
                   ? concat(claims.size(), "개 중 ", holding, "개가 성립한다.")
                   : concat(holding, " of ", claims.size(), " claims hold."));
  }
  return holding == claims.size() ? kDone : kFailed;
}

}  // namespace rapt::app

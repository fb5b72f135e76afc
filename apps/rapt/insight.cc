// rapt insight: measures what is said of the Transformer, and draws it.
#include <iostream>

#include "apps/rapt/exit_codes.h"
#include "apps/rapt/insight_check.h"
#include "apps/rapt/insight_claims.h"
#include "apps/rapt/insight_output.h"
#include "apps/rapt/insight_report.h"
#include "apps/rapt/output.h"
#include "rapt/insight/result.h"
#include "rapt/plot/label.h"
#include "rapt/plot/text.h"

namespace rapt::app {
namespace {

using insight::Language;
using insight::Result;

void print_claims(Language language) {
  for (const ClaimEntry& entry : claims()) {
    print_line(
        concat("  ", plot::pad_right(entry.claim.name, 14), entry.claim.statement(language)));
  }
}

void print_usage() {
  print(
      "Measures what is said of the Transformer, prints it as tables, a chart and one sentence, or "
      "draws it.\n\n"
      "Usage: rapt insight [--lang ko]\n"
      "       rapt insight NAME [OPTIONS]\n"
      "       rapt insight all --out DIR [OPTIONS]\n"
      "       rapt insight check FILE [OPTIONS]\n"
      "       rapt insight report --model DIR --data FILE [OPTIONS]\n\n");
  print_claims(Language::kEnglish);
  print(
      "\n`rapt insight NAME --help` lists the options of a claim; every number of it is one.\n"
      "`rapt insight all --help` lists those that all share; `rapt insight check --help` tells how "
      "a file of claims is checked, `rapt insight report --help` how a model of your own is looked "
      "into.\n"
      "Example:\n  rapt insight similarity --lang ko --out similarity.svg\n");
}

void print_result(const Inquiry& inquiry, const Result& result) {
  const Language language = inquiry.common.language;
  print_line(inquiry.entry->claim.statement(language));
  for (const insight::Table& table : result.tables) print('\n' + insight::to_text(table));
  const bool terminal = stdout_is_terminal();
  const size_t natural = terminal ? terminal_width() : 100;
  const size_t width = inquiry.common.width > 0 ? inquiry.common.width : natural;
  print('\n' + plot::to_text(result.figure, {.width = width, .colour = terminal}));
  print_line('\n' + insight::verdict_sentence(result, language));
}

// Without the name of a claim: the list of them.
int list_main(const Arguments& arguments) {
  const auto asks = [](const std::string& a) { return a == "--help" || a == "-h"; };
  if (std::ranges::any_of(arguments, asks)) return print_usage(), kDone;
  CommandLine app("insight", "Lists the claims.", "rapt insight --lang ko");
  Language language = Language::kEnglish;
  add_choice(app, "--lang", language, "language of the list");
  if (app.parse_arguments(arguments)) print_claims(language);
  return kDone;
}

int claim_main(const ClaimEntry& entry, const Arguments& arguments) {
  Inquiry inquiry;
  if (!inquiry.parse(entry, arguments)) return kDone;
  const InsightOptions& o = inquiry.common;
  if (!o.out.empty()) check_figure_path(o.out);
  Pool pool(o.threads);
  const Result result = inquiry.run(pool);
  if (o.out.empty()) {
    print_result(inquiry, result);
  } else {
    write_figure(o.out, result.figure, inquiry.to_json(result), o.width);
  }
  return kDone;
}

int all_main(const Arguments& arguments) {
  CommandLine app("insight all", "Writes the figure of every claim as NAME.svg and NAME.json.",
                  "rapt insight all --out figures");
  InsightOptions o;
  app.add_option("--out", o.out, "folder to write to")->required();
  o.add_to(app);
  if (!app.parse_arguments(arguments)) return kDone;
  check(fs::is_directory(o.out), "--out is '", o.out,
        "', but there is no such folder: make it first");
  Pool pool(o.threads);
  size_t number = 0;
  for (const ClaimEntry& entry : claims()) {
    std::cerr << "rapt: " << entry.claim.name << " (" << ++number << " of " << claims().size()
              << ")\n";
    Inquiry inquiry;
    inquiry.parse(entry, o.full ? Arguments{"--full", "--seed", std::to_string(o.seed)}
                                : Arguments{"--seed", std::to_string(o.seed)});
    inquiry.common.language = o.language;
    const Result result = inquiry.run(pool);
    const Json json = inquiry.to_json(result);
    for (const char* extension : {".svg", ".json"}) {
      const fs::path path = fs::path(o.out) / (std::string(entry.claim.name) + extension);
      write_figure(path, result.figure, json, o.width);
    }
    print_line(concat(entry.claim.name, ": ", insight::verdict_sentence(result, o.language)));
  }
  return kDone;
}

}  // namespace

int insight_main(const Arguments& arguments) {
  if (arguments.empty() || arguments.front().starts_with('-')) return list_main(arguments);
  const std::string& name = arguments.front();
  const Arguments rest(arguments.begin() + 1, arguments.end());
  if (name == "all") return all_main(rest);
  if (name == "check") return insight_check_main(rest);
  if (name == "report") return insight_report_main(rest);
  return claim_main(find_claim(name), rest);
}

}  // namespace rapt::app

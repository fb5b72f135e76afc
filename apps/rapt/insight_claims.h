// The claims that `rapt insight` knows, and the way from their command lines to their answers.
#pragma once
#include <memory>
#include <span>
#include <string>

#include "apps/rapt/command_line.h"
#include "rapt/insight/claim.h"
#include "rapt/io/json.h"

namespace rapt::app {

// A claim's experiment with its options, whatever their type.
class Experiment {
 public:
  virtual ~Experiment() = default;
  virtual void add_options(CLI::App& app) = 0;
  virtual void use_full_sizes() = 0;  // those of the page's figure
  virtual Json options() const = 0;
  virtual insight::Result run(const insight::Setting& setting) const = 0;
};

struct ClaimEntry {
  insight::Claim claim;
  std::unique_ptr<Experiment> (*experiment)();
};
std::span<const ClaimEntry> claims();
// Throws InvalidArgument, with the names that there are.
const ClaimEntry& find_claim(std::string_view name);

// What every claim takes beside its own options.
struct InsightOptions {
  std::string out;
  size_t width = 0;  // 0: that of the terminal, or of the figure
  size_t threads = 1;
  uint64_t seed = 1;
  bool full = false;
  insight::Language language = insight::Language::kEnglish;

  void add_to(CommandLine& app);
};

// A claim's command line, read.
struct Inquiry {
  const ClaimEntry* entry = nullptr;
  std::unique_ptr<Experiment> experiment;
  InsightOptions common;
  std::string command;  // "rapt insight variance --d-k 64": what makes the same numbers again

  // False when only help was asked for.
  bool parse(const ClaimEntry& claim, const Arguments& arguments);
  // The command stands in the figure's caption.
  insight::Result run(Pool& pool) const;
  // claim, statement, command, seed, options, verdict, sentence, numbers, tables, figure
  Json to_json(const insight::Result& result) const;
};

}  // namespace rapt::app

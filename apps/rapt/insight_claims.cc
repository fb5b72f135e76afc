#include "apps/rapt/insight_claims.h"

#include <array>

#include "rapt/insight/attention.h"
#include "rapt/insight/depth.h"
#include "rapt/insight/dice.h"
#include "rapt/insight/feed_forward.h"
#include "rapt/insight/heads.h"
#include "rapt/insight/normalization.h"
#include "rapt/insight/residual.h"
#include "rapt/insight/result.h"
#include "rapt/insight/saturation.h"
#include "rapt/insight/similarity.h"
#include "rapt/insight/sink.h"
#include "rapt/insight/vanishing.h"
#include "rapt/insight/variance.h"
#include "rapt/train/run_identity.h"

namespace rapt::app {
namespace {

using insight::Claim;
using insight::Result;
using insight::Setting;

template <class Options, Result (*kRun)(const Options&, const Setting&)>
class ExperimentOf final : public Experiment {
 public:
  void add_options(CLI::App& app) override { add_fields(app, options_); }
  void use_full_sizes() override {
    if constexpr (requires { Options::full(); }) options_ = Options::full();
  }
  Json options() const override {
    Json object = Json::object();
    Options::fields(options_, to_object(object));
    return object;
  }
  Result run(const Setting& setting) const override { return kRun(options_, setting); }

 private:
  Options options_;
};

template <class Options>
using Run = Result (*)(const Options&, const Setting&);
template <class Options>
Options options_of(Run<Options>);  // for its type alone

// Makes the experiment of a claim's function.
template <auto kRun>
std::unique_ptr<Experiment> experiment() {
  return std::make_unique<ExperimentOf<decltype(options_of(kRun)), kRun>>();
}

// In the order of the notes.
constexpr std::array kClaims = {
    ClaimEntry{insight::kAttention, experiment<insight::attention>},
    ClaimEntry{insight::kSimilarity, experiment<insight::similarity>},
    ClaimEntry{insight::kVariance, experiment<insight::variance>},
    ClaimEntry{insight::kDice, experiment<insight::dice>},
    ClaimEntry{insight::kSaturation, experiment<insight::saturation>},
    ClaimEntry{insight::kVanishing, experiment<insight::vanishing>},
    ClaimEntry{insight::kResidual, experiment<insight::residual>},
    ClaimEntry{insight::kNormalization, experiment<insight::normalization>},
    ClaimEntry{insight::kDepth, experiment<insight::depth>},
    ClaimEntry{insight::kFeedForward, experiment<insight::feed_forward>},
    ClaimEntry{insight::kHeads, experiment<insight::heads>},
    ClaimEntry{insight::kSink, experiment<insight::sink>},
};

// The options that were given and change a number.
std::string command_of(const CLI::App& app, std::string_view name) {
  std::string command = concat("rapt insight ", name);
  for (const CLI::Option* option : app.get_options()) {
    const std::string flag = option->get_name();
    if (option->count() == 0 || flag == "--out" || flag == "--width" || flag == "--lang" ||
        flag == "--threads" || flag == "--config") {
      continue;
    }
    command += ' ' + flag;
    if (option->get_items_expected_max() == 0) continue;  // a switch
    for (const std::string& value : option->results()) {
      const bool plain = value.find_first_of(" \"'\\$`&|;<>()*?#") == std::string::npos;
      command += plain && !value.empty() ? ' ' + value : concat(" \"", value, '"');
    }
  }
  return command;
}

}  // namespace

std::span<const ClaimEntry> claims() { return kClaims; }

const ClaimEntry& find_claim(std::string_view name) {
  std::string names;
  for (const ClaimEntry& entry : kClaims) {
    if (entry.claim.name == name) return entry;
    names += concat(names.empty() ? "" : ", ", entry.claim.name);
  }
  throw InvalidArgument(concat("insight: there is no claim '", name, "', expected one of ", names));
}

void InsightOptions::add_to(CommandLine& app) {
  add_choice(app, "--lang", language, "language of figure, tables and sentence");
  app.add_option("--width", width,
                 "columns in the terminal, pixels of a picture; 0: as wide as it needs")
      ->check(in_range({0, 20000}))
      ->capture_default_str();
  app.add_option("--seed", seed, "of everything random")
      ->check(in_range({0, 9e15}))
      ->capture_default_str();
  app.add_flag("--full", full, "the sizes of the page's figure, which take longer");
  app.add_threads(threads);
}

bool Inquiry::parse(const ClaimEntry& claim, const Arguments& arguments) {
  entry = &claim;
  const std::string name(claim.claim.name);
  const auto read = [&](bool full) {
    experiment = claim.experiment();
    if (full) experiment->use_full_sizes();
    CommandLine app("insight " + name, std::string(claim.claim.english),
                    concat("rapt insight ", name, " --out ", name, ".svg"));
    experiment->add_options(app);
    app.add_option("--out", common.out, "file to write: .svg, .pdf, .png, .csv or .json");
    common.add_to(app);
    if (!app.parse_arguments(arguments)) return false;
    for (const CLI::Option* option : app.get_options()) {
      for (const std::string& value : option->results())
        check_option_text(option->get_name(), value);
    }
    command = command_of(app, name);
    return true;
  };
  // --full sets other defaults, which the options that are given then change.
  return read(false) && (!common.full || read(true));
}

Result Inquiry::run(Pool& pool) const {
  Result result = experiment->run({pool, common.seed, common.language});
  std::string& caption = result.figure.caption;
  caption += concat(caption.empty() ? "" : " · ", command);
  return result;
}

Json Inquiry::to_json(const Result& result) const {
  Json object = {{"claim", entry->claim.name},
                 {"statement", entry->claim.statement(common.language)},
                 {"command", command},
                 {"seed", common.seed},
                 {"options", experiment->options()},
                 {"verdict", name_of(result.verdict)},
                 {"sentence", result.sentence}};
  object.update(insight::to_json(result));
  return object;
}

}  // namespace rapt::app

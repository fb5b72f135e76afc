// rapt eval: outputs against references. A reference line may hold several right answers, parted by
// tabs: any of them counts.
#include <iostream>

#include "apps/rapt/command_line.h"
#include "apps/rapt/exit_codes.h"
#include "apps/rapt/output.h"
#include "rapt/base/file.h"
#include "rapt/base/utf8.h"
#include "rapt/metrics/bleu.h"
#include "rapt/metrics/chrf.h"
#include "rapt/metrics/metric.h"

namespace rapt::app {
namespace {

struct Options {
  std::vector<std::string> metrics;
  std::string hypothesis, reference, tokenize = "13a";
  bool json = false, lowercase = false;
  size_t resamples = 1000, chrf_words = 0;
  uint64_t seed = 0;
};

metrics::Lines read_lines(const std::string& path) {
  LineReader reader(path);
  metrics::Lines lines;
  for (std::string line; reader.next(line);) {
    check<IoError>(!reader.too_long(), path, ": line ", reader.line(), " is longer than ",
                   LineReader::kDefaultLimit, " bytes");
    check_utf8(line, path, reader.line());
    lines.push_back(line);
  }
  check<IoError>(!lines.empty(), path, ": the file is empty, expected one line for each output");
  return lines;
}

metrics::References read_references(const std::string& path) {
  metrics::References references;
  for (const std::string& line : read_lines(path)) {
    metrics::Lines& alternatives = references.emplace_back();
    for (size_t begin = 0, end; begin <= line.size(); begin = end + 1) {
      end = std::min(line.find('\t', begin), line.size());
      alternatives.push_back(line.substr(begin, end - begin));
    }
  }
  return references;
}

struct Result {
  metrics::Estimate estimate;
  std::string signature;
};

Result compute(const std::string& name, const metrics::Lines& hypotheses,
               const metrics::References& references, const Options& o) {
  if (name == "bleu") {
    const metrics::BleuOptions bleu{metrics::bleu_tokenizer(o.tokenize), o.lowercase, false};
    const auto statistics = metrics::bleu_statistics(hypotheses, references, bleu);
    return {metrics::bootstrap(
                statistics,
                [&](std::span<const int64_t> total) { return metrics::bleu_of(total, bleu).score; },
                o.seed, o.resamples),
            metrics::bleu_signature(references, bleu)};
  }
  if (name == "chrf") {
    const metrics::ChrfOptions chrf{o.chrf_words, o.lowercase};
    return {metrics::bootstrap(metrics::chrf_statistics(hypotheses, references, chrf),
                               metrics::chrf_of, o.seed, o.resamples),
            metrics::chrf_signature(references, chrf)};
  }
  const metrics::Metric& metric = metrics::find_metric(name);
  return {metric.estimate(hypotheses, references, o.seed, o.resamples), ""};
}

std::string fixed(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", x);
  return text;
}

}  // namespace

int eval_main(const Arguments& arguments) {
  CommandLine app("eval",
                  "Compares outputs with references, line by line. A reference line may hold "
                  "several right answers, parted by tabs.",
                  "rapt eval --metric wer,per --hypothesis out.txt --reference ref.txt");
  Options o;
  app.add_option("--metric", o.metrics, "wer, per, cer, accuracy, bleu, chrf; several with commas")
      ->delimiter(',')
      ->required();
  app.add_option("--hypothesis", o.hypothesis, "outputs, one a line; - is stdin")->required();
  app.add_option("--reference", o.reference, "right answers, one line for each output")->required();
  app.add_option("--tokenize", o.tokenize, "of BLEU: 13a, intl, char, none")->capture_default_str();
  app.add_flag("--lowercase", o.lowercase, "BLEU and chrF of lower-cased text");
  app.add_option("--chrf-words", o.chrf_words, "word n-grams of chrF; 2 gives chrF++")
      ->check(in_range({0, 2}))
      ->capture_default_str();
  app.add_option("--resamples", o.resamples, "of the bootstrap that gives the intervals")
      ->check(in_range({1, 100000}))
      ->capture_default_str();
  app.add_option("--seed", o.seed, "of the bootstrap")->capture_default_str();
  app.add_flag("--json", o.json, "one JSON object");
  if (!app.parse_arguments(arguments)) return kDone;

  for (const std::string& name : o.metrics) {
    const metrics::Metric& metric = metrics::find_metric(name);
    check(metric.needs_decoding(), "--metric ", name, " needs a model: use `rapt score`");
  }
  check(o.hypothesis != "-" || o.reference != "-",
        "--hypothesis and --reference are both stdin, expected a file for one of them");
  const metrics::Lines hypotheses = read_lines(o.hypothesis);
  const metrics::References references = read_references(o.reference);
  check<IoError>(hypotheses.size() == references.size(), o.hypothesis, " has ", hypotheses.size(),
                 " lines and ", o.reference, " has ", references.size(),
                 "; expected one reference line for each output");
  Json object = {{"lines", hypotheses.size()}};
  for (const std::string& name : o.metrics) {
    const Result result = compute(name, hypotheses, references, o);
    const metrics::Metric& metric = metrics::find_metric(name);
    const metrics::Estimate& e = result.estimate;
    if (o.json) {
      object[name] = {{"value", e.value}, {"low", e.low}, {"high", e.high}};
      if (!result.signature.empty()) object[name]["signature"] = result.signature;
    } else {
      const std::string unit = metric.unit.empty() ? "" : concat(' ', metric.unit);
      print_line(concat(metric.title, ' ', fixed(e.value), unit, "  (95 % interval ", fixed(e.low),
                        " to ", fixed(e.high), ", ", hypotheses.size(), " lines)",
                        result.signature.empty() ? "" : "  ", result.signature));
    }
  }
  if (o.json) print_json(object);
  return kDone;
}

}  // namespace rapt::app

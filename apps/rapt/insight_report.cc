// rapt insight report: a page about the user's own model and text.
#include "apps/rapt/insight_report.h"

#include <iostream>

#include "apps/rapt/command_line.h"
#include "apps/rapt/exit_codes.h"
#include "apps/rapt/output.h"
#include "apps/rapt/read_example.h"
#include "rapt/insight/report.h"

namespace rapt::app {
namespace {

struct Options {
  std::string model, data, out = "report.html";
  size_t sentences = 64, threads = 1;
  insight::Language language = insight::Language::kEnglish;

  bool json() const { return fs::path(out).extension() == ".json"; }
};

void check_out(const Options& o) {
  const fs::path folder = fs::path(o.out).parent_path();
  check(o.json() || fs::path(o.out).extension() == ".html", "--out is '", o.out,
        "', expected a file that ends in .html or .json");
  check(folder.empty() || fs::is_directory(folder), "--out is '", o.out,
        "', but there is no folder ", folder.string(), ": make it first");
}

// The first sentences that the model can read.
std::vector<Example> read_examples(const Options& o, const Model& model,
                                   insight::ReportSubject& subject) {
  LineReader reader(o.data);
  UnknownSymbols unknown;
  std::vector<Example> examples;
  size_t symbols = 0;
  std::string line;
  while (examples.size() < o.sentences && reader.next(line)) {
    Example e = read_example(model.text, reader, line, &unknown);
    symbols += e.source.size() + e.target.size();
    if (e.target.empty() || (model.text.has_source() && e.source.empty())) continue;
    if (insight::fits(model, e)) {
      examples.push_back(std::move(e));
    } else {
      ++subject.left_out;
    }
  }
  const std::string warning = unknown.warning(o.data);
  check(symbols == 0 || unknown.count() < symbols, warning,
        "; the model knows none of them, expected text such as it was trained on");
  check(!examples.empty(), o.data, " has no sentence that the model can read: ", subject.left_out,
        " are longer than its ", model.transformer.config().max_positions,
        " positions, the others are empty");
  if (!warning.empty()) std::cerr << "rapt: " << warning << '\n';
  return examples;
}

}  // namespace

int insight_report_main(const Arguments& arguments) {
  CommandLine app(
      "insight report",
      "Looks into a model while it reads a text, and writes one page: scores, entropy "
      "and saturation of every head, gradients and activations of every layer, each with "
      "what is normal and what calls for action.",
      "rapt insight report --model g2p --data dev.tsv --out report.html");
  Options o;
  app.add_option("--model", o.model, "model directory")->required();
  app.add_option("--data", o.data,
                 "pairs \"input<TAB>output\"; a decoder-only model: lines; - is stdin")
      ->required();
  app.add_option("--out", o.out, "file to write: .html, or .json for the numbers alone")
      ->capture_default_str();
  app.add_option("--sentences", o.sentences, "look at the first so many")
      ->check(in_range({1, 1e6}))
      ->capture_default_str();
  add_choice(app, "--lang", o.language, "language of the page");
  app.add_threads(o.threads);
  if (!app.parse_arguments(arguments)) return kDone;
  check_out(o);

  const Model model = load_model(o.model);
  insight::ReportSubject subject{o.model, o.data};
  const std::vector<Example> examples = read_examples(o, model, subject);
  Pool pool(o.threads);
  const insight::ModelView view = insight::view_model(model, examples, pool);
  if (o.json()) {
    write_json(o.out, insight::report_json(subject, view));
  } else {
    write_file(o.out, insight::report_page(subject, view, o.language));
  }
  for (const insight::ReportSection& section : insight::report_sections(view, o.language)) {
    print_line(concat(section.alarming ? "!  " : "   ", section.heading, ": ", section.met));
  }
  print_line(o.out);
  return kDone;
}

}  // namespace rapt::app

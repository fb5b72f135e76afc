// rapt check: shows on the user's own model that a sentence gets the same bits alone and in any
// batch, with and without the cache, for any number of threads.
#include "apps/rapt/command_line.h"
#include "apps/rapt/exit_codes.h"
#include "apps/rapt/output.h"
#include "rapt/base/random.h"
#include "rapt/decode/invariance.h"

namespace rapt::app {
namespace {

struct Options {
  std::string model, input;
  size_t sentences = 32, threads = 1;
  uint64_t seed = 1;
  bool json = false;
};

// Random sentences of the model's own symbols: every model can be checked without data.
std::vector<Example> random_examples(const Model& model, const Options& o) {
  const size_t most = std::min<size_t>(40, model.transformer.config().max_positions - 1);
  uint64_t count = 0;
  const auto draw = [&](size_t n) {
    const PhiloxBlock b = philox({static_cast<uint32_t>(count++), 0, 0, 0}, o.seed);
    return static_cast<size_t>((uint64_t{b[0]} * n) >> 32);
  };
  const auto ids = [&](size_t vocabulary) {
    std::vector<int32_t> v(1 + draw(most));
    for (int32_t& id : v) id = static_cast<int32_t>(draw(vocabulary));
    return v;
  };
  std::vector<Example> examples(o.sentences);
  for (size_t i = 0; i < examples.size(); ++i) {
    examples[i].id = i;
    if (model.text.has_source()) examples[i].source = ids(model.transformer.source_vocabulary());
    examples[i].target = ids(model.transformer.target_vocabulary());
  }
  return examples;
}

std::vector<Example> read_examples(const Model& model, const Options& o) {
  const bool pairs = model.text.has_source();
  const size_t most = model.transformer.config().max_positions - 1;
  LineReader reader(o.input);
  std::vector<Example> examples;
  for (std::string line; examples.size() < o.sentences && reader.next(line);) {
    Example e;
    e.id = examples.size();
    const size_t tab = pairs ? line.find('\t') : std::string::npos;
    check<IoError>(!pairs || tab != std::string::npos, o.input, ": line ", reader.line(),
                   " has no tab, expected: input, a tab, output");
    if (pairs) e.source = model.text.source().encode(line.substr(0, tab), reader.line());
    e.target = model.text.target().encode(pairs ? line.substr(tab + 1) : line, reader.line());
    if (e.source.size() <= most && e.target.size() <= most) examples.push_back(std::move(e));
  }
  check<IoError>(!examples.empty(), o.input, ": no line that the model can take");
  return examples;
}

}  // namespace

int check_main(const Arguments& arguments) {
  CommandLine app(
      "check",
      "Shows on a model that a sentence gets the same bits alone and in any batch, with "
      "and without the cache, for any number of threads. Exits with 1 on a difference.",
      "rapt check g2p --input pairs.tsv");
  Options o;
  app.add_option("model,--model", o.model, "model directory")->required();
  app.add_option("--input", o.input,
                 "lines \"input<TAB>output\" (decoder-only: lines); without it random symbols");
  app.add_option("--sentences", o.sentences, "how many are compared")
      ->check(in_range({1, 100000}))
      ->capture_default_str();
  app.add_option("--seed", o.seed, "of the random symbols")->capture_default_str();
  app.add_flag("--json", o.json, "one JSON object");
  app.add_threads(o.threads);
  if (!app.parse_arguments(arguments)) return kDone;

  const Model model = load_model(o.model);
  const auto examples = o.input.empty() ? random_examples(model, o) : read_examples(model, o);
  const auto results = check_invariance(model, examples, o.threads);
  bool same = true;
  Json object = Json::array();
  for (const InvarianceResult& r : results) {
    same = same && r.different == 0;
    if (o.json) {
      object.push_back({{"name", r.name},
                        {"compared", r.compared},
                        {"different", r.different},
                        {"first", r.first}});
    } else if (r.different == 0) {
      print_line(concat("same bits  ", r.name, ": ", r.compared, " log-probabilities"));
    } else {
      print_line(concat("DIFFERENT  ", r.name, ": ", r.different, " of ", r.compared,
                        " log-probabilities, first at ", r.first));
    }
  }
  if (o.json) print_json({{"same", same}, {"checks", std::move(object)}});
  return same ? kDone : kFailed;
}

}  // namespace rapt::app

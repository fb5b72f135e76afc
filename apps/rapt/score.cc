// rapt score: how likely the model finds given outputs. Answers as soon as no further input waits.
#include <iostream>

#include "apps/rapt/answer_lines.h"
#include "apps/rapt/command_line.h"
#include "apps/rapt/exit_codes.h"
#include "apps/rapt/output.h"
#include "apps/rapt/read_example.h"
#include "rapt/decode/scorer.h"

namespace rapt::app {
namespace {

struct Options {
  std::string model, input = "-";
  bool json = false, strict = false;
  size_t threads = 1, batch_tokens = 4096;
};

class ScoreRun {
 public:
  explicit ScoreRun(const Options& options)
      : options_(options), model_(load_model(options.model)), pool_(options.threads) {
    model_.transformer.pack();
  }

  int run() {
    LineReader reader(options_.input);
    if (options_.input == "-" && stdin_is_terminal()) {
      std::cerr << "Type " << (model_.text.has_source() ? "input, a tab, output" : "a line")
                << " and press Enter; Ctrl-D ends.\n";
    }
    std::vector<std::string> lines;
    std::vector<Example> examples;
    const auto take = [&](const std::string& line) {
      examples.push_back(read_example(model_.text, reader, line, &unknown_));
      lines.push_back(line);
    };
    const auto answer = [&] {
      const auto scores = score(model_, examples, pool_, options_.batch_tokens);
      for (size_t i = 0; i < lines.size(); ++i)
        print_score(examples[i].id + 1, lines[i], scores[i]);
      lines.clear();
      examples.clear();
    };
    answer_lines(reader, take, answer);
    return report();
  }

 private:
  void print_score(uint64_t line, const std::string& text, const Score& s) {
    tokens_ += s.tokens;
    log_probability_ += s.log_probability;
    if (options_.json) {
      print_json({{"line", line},
                  {"input", text},
                  {"log_probability", s.log_probability},
                  {"tokens", s.tokens},
                  {"perplexity", s.perplexity()}});
    } else {
      print_line(
          concat(shortest(s.log_probability), '\t', s.tokens, '\t', shortest(s.perplexity())));
    }
  }

  int report() const {
    const std::string where = options_.input == "-" ? "stdin" : options_.input;
    const std::string warning = unknown_.warning(where);
    if (!warning.empty()) std::cerr << "rapt: " << warning << '\n';
    if (tokens_ != 0) {
      std::cerr << "rapt: " << tokens_ << " tokens, log-probability " << shortest(log_probability_)
                << ", perplexity " << shortest(Score{log_probability_, tokens_}.perplexity())
                << '\n';
    }
    return options_.strict && unknown_.count() != 0 ? kFailed : kDone;
  }

  const Options& options_;
  Model model_;
  Pool pool_;
  UnknownSymbols unknown_;
  size_t tokens_ = 0;
  double log_probability_ = 0;
};

}  // namespace

int score_main(const Arguments& arguments) {
  CommandLine app("score",
                  "Reads lines \"input<TAB>output\" (a decoder-only model: lines) and writes for "
                  "each: log-probability (natural, </s> included), tokens, perplexity.",
                  "rapt score --model g2p < pairs.tsv");
  Options o;
  app.add_option("--model", o.model, "model directory")->required();
  app.add_option("--input", o.input, "file to read; - is stdin")->capture_default_str();
  app.add_flag("--json", o.json, "one JSON object a line");
  app.add_flag("--strict", o.strict, "exit with 1 when a symbol was not in the vocabulary");
  app.add_option("--batch-tokens", o.batch_tokens, "tokens scored at once by a thread")
      ->check(in_range({1, 1 << 24}))
      ->capture_default_str();
  app.add_threads(o.threads);
  if (!app.parse_arguments(arguments)) return kDone;
  return ScoreRun(o).run();
}

}  // namespace rapt::app

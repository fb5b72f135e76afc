// rapt: the Transformer of "Attention Is All You Need", whole. Finds the subcommand, and turns what
// it throws into a message and an exit code.
#include <CLI/CLI.hpp>
#include <array>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <new>

#include "apps/rapt/commands.h"
#include "apps/rapt/exit_codes.h"
#include "apps/rapt/output.h"
#include "rapt/base/check.h"

namespace rapt::app {
namespace {

struct Command {
  std::string_view name;
  int (*run)(const Arguments&);
  std::string_view help;
};

constexpr std::array kCommands = {
    Command{"train", train_main, "train a model on pairs of lines, or on one text"},
    Command{"decode", decode_main, "turn lines into lines, or go on with a text"},
    Command{"score", score_main, "say how likely given outputs are"},
    Command{"eval", eval_main, "compare outputs with references: WER, PER, BLEU, chrF, accuracy"},
    Command{"average", average_main, "average the weights of checkpoints"},
    Command{"explain", explain_main, "draw what every attention head looked at"},
    Command{"insight", insight_main, "measure what is said of the Transformer, and draw it"},
    Command{"info", info_main, "say what a model is"},
    Command{"check", check_main, "show on a model that its results have the same bits everywhere"},
    Command{"bench", bench_main, "measure the machine, and rapt on it"},
};

void print_usage(std::ostream& out) {
  out << "rapt " << RAPT_VERSION
      << ": Transformers on ordinary CPUs\n\nUsage: rapt COMMAND [OPTIONS]\n\n";
  for (const Command& c : kCommands) {
    out << "  " << c.name << std::string(10 - c.name.size(), ' ') << c.help << '\n';
  }
  out << "\n`rapt COMMAND --help` lists the options of a command, with an example.\n";
}

int fail(const std::string& message, int code) {
  std::fflush(stdout);
  std::cerr << "rapt: " << message << '\n';
  return code;
}

// CLI11's codes become 2. Commands of commands have options of their own: "insight variance".
int parse_error(const Command& command, const Arguments& arguments, const CLI::ParseError& e) {
  const bool inner = command.name == "insight" && !arguments.empty() && arguments[0][0] != '-';
  const std::string name = concat(command.name, inner ? " " + arguments[0] : "");
  return fail(concat(name, ": ", e.what(), "; `rapt ", name, " --help` lists the options"),
              kMistake);
}

int run(const Command& command, const Arguments& arguments) {
  try {
    const int code = command.run(arguments);
    flush();
    return code;
  } catch (const CLI::ParseError& e) {
    return parse_error(command, arguments, e);
  } catch (const ClosedPipe&) {
    return kClosedPipe;
  } catch (const InvalidArgument& e) {
    return fail(e.what(), kMistake);
  } catch (const fs::filesystem_error& e) {
    return fail(concat(e.path1().string(), ": ", e.code().message()), kFailed);
  } catch (const std::bad_alloc&) {
    return fail("out of memory: choose a smaller model or fewer --batch-tokens", kFailed);
  } catch (const std::exception& e) {
    return fail(e.what(), kFailed);
  }
}

int main_of(const Arguments& arguments) {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a write then fails with EFBIG, and what it left is removed
  if (arguments.empty()) {
    print_usage(std::cerr);
    return kMistake;
  }
  const std::string& name = arguments.front();
  if (name == "--help" || name == "-h" || name == "help") return print_usage(std::cout), kDone;
  if (name == "--version") return std::cout << "rapt " << RAPT_VERSION << '\n', kDone;
  for (const Command& command : kCommands) {
    if (command.name == name) return run(command, {arguments.begin() + 1, arguments.end()});
  }
  return fail(concat("there is no command '", name, "'; `rapt --help` lists them"), kMistake);
}

}  // namespace
}  // namespace rapt::app

int main(int argc, char** argv) { return rapt::app::main_of({argv + 1, argv + argc}); }

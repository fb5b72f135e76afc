#include "apps/rapt/command_line.h"

#include <algorithm>
#include <set>
#include <sstream>

#include "apps/rapt/output.h"
#include "rapt/base/utf8.h"

namespace rapt::app {
namespace {

// What CLI11's reader would take for something else: a section, a quote or bracket that is not
// closed, a key that is given twice.
void check_lines(const std::string& text) {
  std::istringstream lines(text);
  std::set<std::string> keys;
  size_t number = 0, opened = 0;
  int open = 0;  // brackets; an array may go on over lines
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string::npos || line[first] == '#') continue;
    if (open == 0) {
      check(line[first] != '[', "--config, line ", number,
            ": sections are not used; write the options one below the other");
      const std::string key = line.substr(first, line.find_first_of(" =\t", first) - first);
      check(keys.insert(key).second, "--config, line ", number, ": ", key, " is given twice");
      opened = number;
    }
    bool quoted = false;
    for (const char c : line) {
      if (c == '"') quoted = !quoted;
      if (quoted) continue;
      if (c == '#') break;
      open += (c == '[') - (c == ']');
    }
    check(!quoted, "--config, line ", number, ": a quote is not closed");
  }
  check(open == 0, "--config, line ", opened, ": a bracket is not closed");
}

// TOML with the names of config.json: underscores for the hyphens of options.
class Toml : public CLI::ConfigTOML {
 public:
  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override {
    const std::string text(std::istreambuf_iterator<char>(input), {});
    check_lines(text);
    std::istringstream checked(text);
    std::vector<CLI::ConfigItem> items = CLI::ConfigTOML::from_config(checked);
    for (CLI::ConfigItem& item : items) std::ranges::replace(item.name, '_', '-');
    return items;
  }
};

std::string plain(double x) {
  std::ostringstream out;
  out.precision(12);
  out << x;
  return out.str();
}

}  // namespace

CommandLine::CommandLine(std::string_view name, std::string_view description,
                         std::string_view example)
    : CLI::App(std::string(description), "rapt " + std::string(name)) {
  footer("Example:\n  " + std::string(example));
  config_formatter(std::make_shared<Toml>());
  set_config("--config", "", "read options from a TOML file: d_model = 256 for --d-model 256");
  allow_config_extras(CLI::config_extras_mode::error);
  get_formatter()->column_width(34);
}

void CommandLine::add_threads(size_t& threads) {
  threads = physical_cores();
  add_option("--threads", threads, "threads; the results are the same for any number")
      ->check(in_range({1, 1024}))
      ->capture_default_str();
}

bool CommandLine::parse_arguments(const Arguments& arguments) {
  for (CLI::Option* option : get_options()) {
    if (option->get_items_expected_max() == 1) option->take_last();  // the last one given counts
  }
  Arguments reversed(arguments.rbegin(), arguments.rend());  // as CLI11 wants them
  try {
    parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    print(help());
    return false;
  } catch (const CLI::ConfigError& e) {
    std::string key = e.what();
    key = key.substr(key.rfind(' ') + 1);
    std::ranges::replace(key, '-', '_');
    throw InvalidArgument(
        concat(get_config_ptr()->as<std::string>(), ": ", key, " is no option of this command"));
  }
  return true;
}

void check_option_text(const std::string& flag, const std::string& text) {
  try {
    check_utf8(text, flag, 0);
  } catch (const IoError& e) {
    throw InvalidArgument(e.what());
  }
}

CLI::Validator in_range(Range range) {
  const std::string text = plain(range.min) + " to " + plain(range.max);
  return CLI::Validator(
      [=](const std::string& s) {
        double value = 0;
        const bool number = CLI::detail::lexical_cast(s, value);
        if (number && value >= range.min && value <= range.max) return std::string();
        return "expected " + text + ", found '" + s + "'";
      },
      text, "range");
}

}  // namespace rapt::app

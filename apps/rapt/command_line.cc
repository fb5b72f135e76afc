#include "apps/rapt/command_line.h"

#include <algorithm>

#include "apps/rapt/output.h"

namespace rapt::app {
namespace {

// TOML with the names of config.json: underscores for the hyphens of options.
class Toml : public CLI::ConfigTOML {
 public:
  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override {
    std::vector<CLI::ConfigItem> items = CLI::ConfigTOML::from_config(input);
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

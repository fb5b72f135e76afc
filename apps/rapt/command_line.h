// A command's options: CLI11, filled from the lists that option structs keep of their fields. Each
// option can also stand in a TOML file given by --config, with d_model for --d-model.
#pragma once
#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "apps/rapt/commands.h"
#include "rapt/base/options.h"
#include "rapt/parallel/pool.h"

namespace rapt::app {

// "rapt NAME", with --help, --config, and an example at the foot of the help.
class CommandLine : public CLI::App {
 public:
  CommandLine(std::string_view name, std::string_view description, std::string_view example);
  // --threads, the physical cores by default.
  void add_threads(size_t& threads);
  // False when only help was asked for; it is printed then. Throws CLI::ParseError, which main()
  // prints, also for a key of the file that is no option.
  bool parse_arguments(const Arguments& arguments);
};

// "expected 1 to 1024, found 'x'"
CLI::Validator in_range(Range range);

template <class E>
std::vector<std::string> enum_names() {
  std::vector<std::string> all;
  for (const auto& entry : kNames<E>) all.emplace_back(entry.second);
  return all;
}
// One of an enumeration's names.
template <class E>
void add_choice(CLI::App& app, const std::string& flag, E& value, const std::string& help) {
  app.add_option_function<std::string>(
         flag, [&value, flag](const std::string& s) { value = value_of<E>(s, flag); }, help)
      ->check(CLI::IsMember(enum_names<E>()))
      ->default_str(std::string(name_of(value)));
}

// Throws InvalidArgument, naming the option, unless its text is UTF-8.
void check_option_text(const std::string& flag, const std::string& text);

// One option for each field, but those named in `skip`: --d-model for d_model, with the prefix
// "source_" --source-tokenizer for tokenizer.
template <class Options>
void add_fields(CLI::App& app, Options& options, const std::vector<std::string_view>& skip = {},
                const std::string& prefix = "") {
  Options::fields(options, [&](std::string_view name, auto& value, auto... rest) {
    using T = std::remove_reference_t<decltype(value)>;
    if (std::ranges::find(skip, name) != skip.end()) return;
    const std::string help = std::get<sizeof...(rest) - 1>(std::tuple(rest...));
    const std::string flag = flag_of(prefix + std::string(name));
    if constexpr (std::is_same_v<T, bool>) {
      app.add_flag(flag + ",!--no-" + flag.substr(2), value, help + (value ? " [on]" : ""));
    } else if constexpr (std::is_enum_v<T>) {
      add_choice(app, flag, value, help);
    } else if constexpr (std::is_arithmetic_v<T>) {
      const Range range = std::get<0>(std::tuple(rest...));
      app.add_option(flag, value, help)->check(in_range(range))->capture_default_str();
    } else {
      app.add_option(flag, value, help)->capture_default_str();
    }
  });
}

}  // namespace rapt::app

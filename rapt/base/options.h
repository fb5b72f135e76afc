// Options listed once. A struct of options has
//   template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit);
// which calls visit(name, member, range, help) for each number and visit(name, member, help) for
// each bool, string and enumeration. The command line (--d-model), TOML and config.json (d_model)
// and the guide are visitors, so they cannot disagree. Self may be const.
#pragma once
#include <array>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "rapt/base/check.h"

namespace rapt {

struct Range {
  double min, max;  // both allowed
};

// The names of an enumeration's values, to be specialised:
//   template <> inline constexpr auto kNames<Tie> = names<Tie>({{Tie::kNone, "none"}, …});
template <class E, size_t N>
using Names = std::array<std::pair<E, std::string_view>, N>;
template <class E, size_t N>
constexpr Names<E, N> names(const std::pair<E, std::string_view> (&list)[N]) {
  return std::to_array(list);
}
template <class E>
inline constexpr Names<E, 0> kNames = {};

template <class E>
std::string_view name_of(E value) {
  for (const auto& [candidate, name] : kNames<E>) {
    if (candidate == value) return name;
  }
  throw Error("an enumeration's value has no name");
}
// "none, decoder, all"
template <class E>
std::string choices() {
  std::string text;
  for (const auto& entry : kNames<E>) text.append(text.empty() ? "" : ", ").append(entry.second);
  return text;
}
template <class E>
E value_of(std::string_view name, std::string_view option) {
  for (const auto& [value, candidate] : kNames<E>) {
    if (candidate == name) return value;
  }
  throw InvalidArgument(concat(option, " is '", name, "', expected one of ", choices<E>()));
}

// d_model -> --d-model
inline std::string flag_of(std::string_view name) {
  std::string flag = "--" + std::string(name);
  for (char& c : flag) {
    if (c == '_') c = '-';
  }
  return flag;
}

// Checks every number of `options` against its range; the message names the option.
template <class Options>
void check_ranges(const Options& options) {
  Options::fields(options, [](std::string_view name, const auto& value, auto&&... rest) {
    if constexpr (sizeof...(rest) == 2) {
      const Range range = std::get<0>(std::tie(rest...));
      const auto number = static_cast<double>(value);
      check(number >= range.min && number <= range.max, name, " is ", value, ", expected ",
            range.min, " to ", range.max);
    }
  });
}

}  // namespace rapt

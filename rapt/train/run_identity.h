// What a run was told, as JSON: {group: {option: value}}. A run goes on only when told the same.
#pragma once
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "rapt/base/options.h"
#include "rapt/io/json.h"

namespace rapt {

// One option as JSON: an enumeration by its name, a float as the shortest decimal.
template <class T>
Json option_json(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return name_of(value);
  } else if constexpr (std::is_same_v<T, float>) {
    return json_number(value);
  } else {
    return value;
  }
}

// A visitor of fields() that fills a JSON object.
inline auto to_object(Json& object) {
  return [&object](std::string_view name, const auto& value, auto&&...) {
    object[std::string(name)] = option_json(value);
  };
}

// "d_model is 512, was 256" for each value that differs, in the order of `now`.
std::vector<std::string> differences(const Json& before, const Json& now);

// Throws InvalidArgument that names `directory` and each difference.
void check_same_run(const Json& before, const Json& now, std::string_view directory);

}  // namespace rapt

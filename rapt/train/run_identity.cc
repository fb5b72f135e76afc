#include "rapt/train/run_identity.h"

#include "rapt/base/check.h"

namespace rapt {
namespace {

std::string text_of(const Json& value) {
  return value.is_number_float() ? shortest(value.get<double>()) : value.dump();
}

void compare(const Json& before, const Json& now, const std::string& path,
             std::vector<std::string>& found) {
  if (before == now) return;
  if (!now.is_object() || !before.is_object()) {
    found.push_back(concat(path, " is ", text_of(now), ", was ", text_of(before)));
    return;
  }
  const std::string prefix = path.empty() ? "" : path + ".";
  for (const auto& [key, value] : now.items()) {
    const auto other = before.find(key);
    compare(other == before.end() ? Json() : *other, value, prefix + key, found);
  }
  for (const auto& [key, value] : before.items()) {
    if (!now.contains(key)) compare(value, Json(), prefix + key, found);
  }
}

}  // namespace

std::vector<std::string> differences(const Json& before, const Json& now) {
  std::vector<std::string> found;
  compare(before, now, "", found);
  return found;
}

void check_same_run(const Json& before, const Json& now, std::string_view directory) {
  std::string text;
  for (const std::string& difference : differences(before, now)) {
    text += (text.empty() ? "" : "; ") + difference;
  }
  check(text.empty(), directory, " holds a run that was told otherwise: ", text,
        ". Give the same options to go on, or another directory for a new model");
}

}  // namespace rapt

// JSON from outside, with limits and with messages that name the file and the key; and JSON written
// so that every number reads back as itself.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "rapt/base/file.h"

namespace rapt {

using Json = nlohmann::ordered_json;  // keys stay in the order in which they were written

struct JsonLimits {
  uint64_t bytes = uint64_t{64} << 20;
  size_t depth = 32;
};

// Refuses: invalid UTF-8 or JSON, a repeated key, deeper or larger than the limits. `name` is for
// messages. IoError.
Json parse_json(std::string_view text, std::string_view name, JsonLimits limits = {});
Json read_json(const fs::path& path, JsonLimits limits = {});
// Indented by two, with a last newline; replaces the file atomically.
void write_json(const fs::path& path, const Json& value);

// Shortest decimal that reads back as the same number: 0.1f gives "0.1".
std::string shortest(float x);
std::string shortest(double x);
// The double that prints as shortest(x): what a float becomes in JSON. Non-finite: JSON null.
Json json_number(float x);

// A JSON object whose members are read by type. Every error is an IoError such as
// "model/config.json: d_model: expected an integer from 1 to 1048576, found \"big\"".
class JsonObject {
 public:
  JsonObject(const Json& value, std::string name);  // borrows value; throws unless it is an object

  bool has(std::string_view key) const;
  bool is_null(std::string_view key) const;  // a missing key is an error here and below
  bool boolean(std::string_view key) const;
  int64_t integer(std::string_view key, int64_t min, int64_t max) const;
  double number(std::string_view key, double min, double max) const;
  std::string string(std::string_view key) const;
  // One of `choices`.
  std::string choice(std::string_view key, std::initializer_list<std::string_view> choices) const;
  JsonObject object(std::string_view key) const;
  std::vector<int64_t> integers(std::string_view key, int64_t min, int64_t max) const;
  std::vector<double> numbers(std::string_view key, double min, double max) const;
  std::vector<std::string> keys() const;  // in order, of an object whose keys are not known before
  // A key that is not in `known` comes from another version: an error, never ignored.
  void refuse_unknown(std::initializer_list<std::string_view> known) const;
  const Json& at(std::string_view key) const;
  const std::string& name() const { return name_; }
  [[noreturn]] void fail(std::string_view key, const std::string& what) const;

 private:
  const Json* value_;
  std::string name_;
};

}  // namespace rapt

#include "rapt/io/json.h"

#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "rapt/base/check.h"
#include "rapt/base/utf8.h"

namespace rapt {
namespace {

// Builds the document event by event, so that depth and repeated keys are refused where they stand.
class Builder : public nlohmann::json_sax<Json> {
 public:
  explicit Builder(size_t max_depth) : max_depth_(max_depth) {}
  Json take() { return std::move(root_); }
  const std::string& error() const { return error_; }

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(int64_t value) override { return put(value); }
  bool number_unsigned(uint64_t value) override { return put(value); }
  bool number_float(double value, const std::string&) override { return put(value); }
  bool string(std::string& value) override { return put(std::move(value)); }
  bool binary(Json::binary_t&) override { return stop("binary value"); }
  bool start_object(size_t) override { return open(Json::object()); }
  bool start_array(size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(std::string& name) override {
    // An ordered object looks keys up one by one: bounded, so that time is.
    if (stack_.back()->size() == kMaxKeys) return stop(concat("more than ", kMaxKeys, " keys"));
    if (stack_.back()->contains(name)) return stop("repeated key \"" + printable(name, 80) + '"');
    key_ = std::move(name);
    return true;
  }
  bool parse_error(size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    constexpr int kNumberOverflow = 406;
    return stop(concat(error.id == kNumberOverflow ? "number out of range" : "invalid JSON",
                       " at byte ", position));
  }

 private:
  bool stop(std::string what) {
    error_ = std::move(what);
    return false;
  }
  Json* place(Json value) {
    if (stack_.empty()) return &(root_ = std::move(value));
    Json& parent = *stack_.back();
    if (parent.is_object()) return &(parent[key_] = std::move(value));
    parent.push_back(std::move(value));
    return &parent.back();
  }
  template <class T>
  bool put(T value) {
    place(Json(std::move(value)));
    return true;
  }
  // A container stays where it is while it is open: its parent grows only after it is closed.
  bool open(Json value) {
    if (stack_.size() == max_depth_) return stop(concat("more than ", max_depth_, " levels"));
    stack_.push_back(place(std::move(value)));
    return true;
  }
  bool close() {
    stack_.pop_back();
    return true;
  }

  static constexpr size_t kMaxKeys = 4096;
  size_t max_depth_;
  Json root_;
  std::vector<Json*> stack_;
  std::string key_, error_;
};

std::string shown(const Json& value) {
  return printable(value.dump(-1, ' ', false, Json::error_handler_t::replace), 60);
}

}  // namespace

Json parse_json(std::string_view text, std::string_view name, JsonLimits limits) {
  check<IoError>(text.size() <= limits.bytes, name, ": ", text.size(),
                 " bytes of JSON, expected at most ", limits.bytes);
  check_utf8(text, name, 0);
  // The parser takes a NUL for the end of the text.
  check<IoError>(text.find('\0') == std::string_view::npos, name, ": NUL byte in JSON");
  Builder builder(limits.depth);
  if (!Json::sax_parse(text.begin(), text.end(), &builder)) {
    throw IoError(concat(name, ": ", builder.error()));
  }
  return builder.take();
}

Json read_json(const fs::path& path, JsonLimits limits) {
  return parse_json(read_file(path, limits.bytes), path.string(), limits);
}

void write_json(const fs::path& path, const Json& value) { write_file(path, value.dump(2) + "\n"); }

template <class T>
static std::string shortest_decimal(T x) {
  std::array<char, 40> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), x).ptr;
  return {text.data(), end};
}
std::string shortest(float x) { return shortest_decimal(x); }
std::string shortest(double x) { return shortest_decimal(x); }

Json json_number(float x) {
  if (!std::isfinite(x)) return nullptr;
  const std::string text = shortest(x);
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

JsonObject::JsonObject(const Json& value, std::string name)
    : value_(&value), name_(std::move(name)) {
  check<IoError>(value.is_object(), name_, ": expected a JSON object, found ", shown(value));
}

void JsonObject::fail(std::string_view key, const std::string& what) const {
  throw IoError(concat(name_, ": ", key, ": ", what));
}

bool JsonObject::has(std::string_view key) const {
  return value_->find(std::string(key)) != value_->end();
}

const Json& JsonObject::at(std::string_view key) const {
  const auto found = value_->find(std::string(key));
  if (found == value_->end()) fail(key, "missing");
  return *found;
}

bool JsonObject::is_null(std::string_view key) const { return at(key).is_null(); }

bool JsonObject::boolean(std::string_view key) const {
  const Json& value = at(key);
  if (!value.is_boolean()) fail(key, "expected true or false, found " + shown(value));
  return value.get<bool>();
}

// Of a number literal without fraction or exponent; nothing wraps.
static std::optional<int64_t> integer_of(const Json& value, int64_t min, int64_t max) {
  if (!value.is_number_integer()) return {};
  if (value.is_number_unsigned()) {
    const uint64_t x = value.get<uint64_t>();
    if (x > static_cast<uint64_t>(INT64_MAX)) return {};
  }
  const int64_t x = value.get<int64_t>();
  if (x < min || x > max) return {};
  return x;
}

int64_t JsonObject::integer(std::string_view key, int64_t min, int64_t max) const {
  const std::optional<int64_t> x = integer_of(at(key), min, max);
  if (!x)
    fail(key, concat("expected an integer from ", min, " to ", max, ", found ", shown(at(key))));
  return *x;
}

std::vector<int64_t> JsonObject::integers(std::string_view key, int64_t min, int64_t max) const {
  std::vector<int64_t> result;
  if (!at(key).is_array()) fail(key, "expected an array of integers, found " + shown(at(key)));
  for (const Json& value : at(key)) {
    const std::optional<int64_t> x = integer_of(value, min, max);
    if (!x)
      fail(key, concat("expected integers from ", min, " to ", max, ", found ", shown(value)));
    result.push_back(*x);
  }
  return result;
}

std::vector<double> JsonObject::numbers(std::string_view key, double min, double max) const {
  std::vector<double> result;
  if (!at(key).is_array()) fail(key, "expected an array of numbers, found " + shown(at(key)));
  for (const Json& value : at(key)) {
    const double x = value.is_number() ? value.get<double>() : std::nan("");
    if (!(x >= min && x <= max)) {
      fail(key, concat("expected numbers from ", shortest(min), " to ", shortest(max), ", found ",
                       shown(value)));
    }
    result.push_back(x);
  }
  return result;
}

std::vector<std::string> JsonObject::keys() const {
  std::vector<std::string> keys;
  for (const auto& member : value_->items()) keys.push_back(member.key());
  return keys;
}

double JsonObject::number(std::string_view key, double min, double max) const {
  const Json& value = at(key);
  const double x = value.is_number() ? value.get<double>() : std::nan("");
  if (!(x >= min && x <= max)) {
    fail(key, concat("expected a number from ", shortest(min), " to ", shortest(max), ", found ",
                     shown(value)));
  }
  return x;
}

std::string JsonObject::string(std::string_view key) const {
  const Json& value = at(key);
  if (!value.is_string()) fail(key, "expected a string, found " + shown(value));
  return value.get<std::string>();
}

std::string JsonObject::choice(std::string_view key,
                               std::initializer_list<std::string_view> choices) const {
  const std::string value = string(key);
  std::string expected;
  for (const std::string_view choice : choices) {
    if (value == choice) return value;
    expected += (expected.empty() ? "" : " | ") + std::string(choice);
  }
  fail(key, concat("expected ", expected, ", found \"", printable(value, 60), '"'));
}

JsonObject JsonObject::object(std::string_view key) const {
  return JsonObject(at(key), concat(name_, ": ", key));
}

void JsonObject::refuse_unknown(std::initializer_list<std::string_view> known) const {
  for (const auto& [key, value] : value_->items()) {
    bool found = false;
    for (const std::string_view name : known) found |= key == name;
    if (!found) fail(printable(key, 60), "unknown key: was the file written by another version?");
  }
}

}  // namespace rapt

#include "rapt/models/config.h"

#include <type_traits>

namespace rapt {

void ModelConfig::validate() const {
  check_ranges(*this);
  check((d_k != 0 && d_v != 0) || d_model % heads == 0, "d_model is ", d_model, ", which ", heads,
        " heads do not divide; choose d_model as a multiple of heads, or give d_k and d_v");
  check(heads % key_heads() == 0, "kv_heads is ", kv_heads, ", which does not divide heads ", heads,
        "; each key head serves a group of query heads of one size");
  check(positions != Positions::kRotary || key_dim() % 2 == 0,
        "positions is 'rotary', which turns ", "pairs of columns, but d_k is ", key_dim(),
        "; choose an even d_k");
  check(experts == 0 || experts_top_k <= experts, "experts_top_k is ", experts_top_k,
        ", but there are ", experts, " experts");
  check(has_encoder() || tie != Tie::kAll,
        "tie is 'all', but a decoder has no source embedding; use 'decoder'");
}

Json to_json(const ModelConfig& config) {
  Json json = Json::object();
  ModelConfig::fields(config, [&]<class T>(std::string_view name, const T& value, auto&&...) {
    Json& member = json[std::string(name)];
    if constexpr (std::is_enum_v<T>) {
      member = std::string(name_of(value));
    } else if constexpr (std::is_same_v<T, float>) {
      member = json_number(value);
    } else {
      member = value;
    }
  });
  return json;
}

ModelConfig config_of_json(const JsonObject& object) {
  ModelConfig config;
  ModelConfig::fields(
      config, [&]<class T>(std::string_view name, T& value, const auto& first, auto&&...) {
        if constexpr (std::is_enum_v<T>) {
          const std::string text = object.string(name);
          for (const auto& [candidate, candidate_name] : kNames<T>) {
            if (candidate_name == text) {
              value = candidate;
              return;
            }
          }
          object.fail(name, concat("expected one of ", choices<T>(), ", found '", text, "'"));
        } else if constexpr (std::is_same_v<T, bool>) {
          value = object.boolean(name);
        } else if constexpr (std::is_same_v<T, float>) {
          value = static_cast<float>(object.number(name, first.min, first.max));
        } else {
          value = static_cast<T>(object.integer(name, static_cast<int64_t>(first.min),
                                                static_cast<int64_t>(first.max)));
        }
      });
  try {
    config.validate();
  } catch (const InvalidArgument& error) {
    throw IoError(object.name() + ": " + error.what());
  }
  return config;
}

}  // namespace rapt

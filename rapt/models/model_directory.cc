#include "rapt/models/model_directory.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <set>

#include "rapt/io/safetensors.h"

namespace rapt {
namespace {

constexpr const char* kVersionKey = "format_version";

// All keys of the architecture in version 1.
constexpr std::string_view kVersion1[] = {"architecture",
                                          "d_model",
                                          "heads",
                                          "d_ff",
                                          "encoder_layers",
                                          "decoder_layers",
                                          "norm_order",
                                          "norm_eps",
                                          "final_norm",
                                          "activation",
                                          "positions",
                                          "position_layout",
                                          "max_positions",
                                          "scale_embedding",
                                          "tie",
                                          "output_bias",
                                          "dropout_embedding",
                                          "dropout_attention",
                                          "dropout_activation",
                                          "dropout_residual"};

Json of_version_1(Json json) {
  const Json defaults = to_json(ModelConfig());
  for (const auto& [key, value] : defaults.items()) {
    const bool later = std::ranges::find(kVersion1, key) == std::end(kVersion1);
    if (later && !json.contains(key)) json[key] = value;
  }
  if (const auto order = json.find("norm_order"); order != json.end()) {
    json["residual"] = *order;
    json.erase(order);
  }
  return json;
}

// config.json in the form of today's version.
Json read_config(const fs::path& file) {
  Json json = read_json(file);
  const JsonObject object(json, file.string());
  const int64_t version = object.integer(kVersionKey, 0, INT64_MAX);
  if (version == 1) return of_version_1(std::move(json));
  if (version != kFormatVersion) {
    object.fail(kVersionKey, concat("expected 1 to ", kFormatVersion, ", found ", version,
                                    "; the model is of another version of rapt, use that or "
                                    "train it again"));
  }
  return json;
}

// A key that nobody reads would be a choice that is silently ignored.
void check_keys(const Json& json, const JsonObject& object) {
  std::set<std::string, std::less<>> known{kVersionKey};
  ModelConfig config;
  ModelConfig::fields(config,
                      [&](std::string_view name, auto&&...) { known.emplace(std::string(name)); });
  known.insert(std::begin(TextProcessor::kConfigKeys), std::end(TextProcessor::kConfigKeys));
  for (const auto& member : json.items()) {
    if (!known.contains(member.key())) {
      object.fail(member.key(), "unknown key; the model is of another version of rapt");
    }
  }
}

std::string describe(const Shape& shape) { return concat("F32 ", shape); }

bool has_shape(const StoredTensor& tensor, const Shape& shape) {
  if (tensor.shape.size() != shape.rank()) return false;
  for (size_t axis = 0; axis < shape.rank(); ++axis) {
    if (tensor.shape[axis] != shape[axis]) return false;
  }
  return true;
}

// All of the names and shapes, before any value is read.
void check_tensors(const SafetensorsFile& file, const ParameterSet& parameters) {
  const std::string path = file.path().string();
  for (const Parameter* p : parameters.stored()) {
    check<IoError>(file.find(p->name) != nullptr, path, ": tensor ", p->name, " ",
                   describe(p->value.shape()),
                   " is missing; the file does not belong to this config.json");
  }
  for (const StoredTensor& tensor : file.tensors()) {
    const Parameter* p = parameters.find(tensor.name);
    check<IoError>(p != nullptr, path, ": tensor ", tensor.name, " ", tensor.describe(),
                   " is not one of this model's; the file does not belong to this config.json");
    check<IoError>(has_shape(tensor, p->value.shape()), path, ": tensor ", tensor.name, " is ",
                   tensor.describe(), ", expected ", describe(p->value.shape()));
  }
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace

// A number is finite if its exponent is not all ones. Without a branch, so that vectors do it.
static bool all_finite(std::span<const float> values) {
  constexpr uint32_t kExponent = 0x7F800000;
  uint32_t largest = 0;
  for (const float v : values) largest = std::max(largest, std::bit_cast<uint32_t>(v) & kExponent);
  return largest != kExponent;
}

// A model that was damaged, or that diverged, would answer every line with nothing.
static void check_finite(const fs::path& file, const ParameterSet& parameters) {
  for (const Parameter* p : parameters.stored()) {
    check<IoError>(all_finite(p->value.host()), file.string(), ": ", p->name,
                   " holds NaN or infinity: the file is damaged, or its training diverged");
  }
}

Model load_model(const fs::path& directory) {
  return load_model(directory, directory / "model.safetensors");
}

Model load_model(const fs::path& directory, const fs::path& weights) {
  check<IoError>(fs::is_directory(directory), directory.string(),
                 ": no such model directory; expected one that rapt train has written");
  const fs::path config_file = directory / "config.json";
  const Json json = read_config(config_file);
  const JsonObject object(json, config_file.string());
  check_keys(json, object);
  const ModelConfig config = config_of_json(object);
  TextProcessor text = TextProcessor::load(directory, object);
  check<IoError>(text.has_source() == config.has_encoder(), config_file.string(),
                 ": architecture is ", name_of(config.architecture), ", but a source is ",
                 text.has_source() ? "described" : "missing");
  check<IoError>(config.tie != Tie::kAll || text.joint(), config_file.string(),
                 ": tie is 'all', which needs a joint vocabulary, found separate ones");
  const size_t source = text.has_source() ? text.source().size() : 0;
  try {
    Transformer transformer = Transformer::without_values(config, source, text.target().size());
    load_weights(weights, transformer.parameters());
    check_finite(weights, transformer.parameters());
    return {std::move(transformer), std::move(text)};
  } catch (const InvalidArgument& error) {  // vocabularies that do not fit the configuration
    throw IoError(concat(config_file.string(), ": ", error.what()));
  }
}

void save_config(const fs::path& directory, const ModelConfig& config, const TextProcessor& text) {
  text.save(directory);
  Json json = Json::object();
  json[kVersionKey] = kFormatVersion;
  json.update(to_json(config));
  json.update(text.to_json());
  write_json(directory / "config.json", json);
}

void save_weights(const fs::path& file, const ParameterSet& parameters) {
  TensorMap tensors;
  for (const Parameter* p : parameters.stored()) {
    check(!p->value.empty(), "save_weights: ", p->name,
          " is packed for inference and has no values to save");
    tensors.emplace(p->name, p->value);
  }
  write_safetensors(file, tensors);
}

void load_weights(const fs::path& path, ParameterSet& parameters) {
  const SafetensorsFile file(path);
  check_tensors(file, parameters);
  for (Parameter* p : parameters.stored()) {
    const Tensor values = file.read(*file.find(p->name));
    if (p->value.empty()) {
      p->value = values;
    } else {
      std::ranges::copy(values.span(), p->value.data());
    }
  }
  for (const auto& [second, first] : parameters.ties()) {
    const StoredTensor* stored = file.find(second);
    check<IoError>(
        stored == nullptr || same_bits(file.read(*stored), parameters.find(first)->value),
        path.string(), ": tensors ", second, " and ", first, " differ, but config.json ties them");
  }
}

}  // namespace rapt

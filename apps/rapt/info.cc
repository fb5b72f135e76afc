// rapt info: what a model directory holds.
#include <map>
#include <sstream>

#include "apps/rapt/command_line.h"
#include "apps/rapt/exit_codes.h"
#include "apps/rapt/output.h"
#include "rapt/models/model_directory.h"
#include "rapt/nn/module.h"

namespace rapt::app {
namespace {

Json describe(const Model& model, bool tensors) {
  const Transformer& t = model.transformer;
  const ParameterSet& parameters = t.parameters();
  Json object;
  object["config"] = to_json(t.config());
  object["text"] = model.text.to_json();
  object["source_vocabulary"] = t.source_vocabulary();
  object["target_vocabulary"] = t.target_vocabulary();
  object["parameters"] = parameters.elements();
  object["bytes"] = parameters.elements() * sizeof(float);
  object["precision"] = "float32";
  if (tensors) {
    Json list = Json::array();
    for (const Parameter* parameter : parameters.stored()) {
      const Shape& shape = parameter->value.shape();
      Json sizes = Json::array();
      for (size_t axis = 0; axis < shape.rank(); ++axis) sizes.push_back(shape[axis]);
      list.push_back({{"name", parameter->name}, {"shape", std::move(sizes)}});
    }
    object["tensors"] = std::move(list);
  }
  return object;
}

// What training last said of its experts, if it did: by layer the balance and the load.
Json experts_of(const fs::path& directory) {
  Json experts;
  const fs::path file = directory / "metrics.jsonl";
  if (!fs::exists(file)) return experts;
  LineReader reader(file);
  for (std::string line; reader.next(line);) {
    const Json entry = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (entry.is_object() && entry.contains("experts")) experts = entry["experts"];
  }
  return experts;
}

std::string value_text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

void print_section(std::string_view title, const Json& object) {
  print_line(title);
  for (const auto& [key, value] : object.items()) {
    print_line(concat("  ", key, std::string(key.size() < 22 ? 22 - key.size() : 1, ' '),
                      value_text(value)));
  }
}

}  // namespace

int info_main(const Arguments& arguments) {
  CommandLine app("info",
                  "Says what a model is: its architecture, text processing, size and modules.",
                  "rapt info g2p");
  std::string model;
  bool json = false, tensors = false;
  app.add_option("model,--model", model, "model directory")->required();
  app.add_flag("--tensors", tensors, "list every tensor");
  app.add_flag("--json", json, "one JSON object");
  if (!app.parse_arguments(arguments)) return kDone;

  const Model loaded = load_model(model);
  const ParameterSet& parameters = loaded.transformer.parameters();
  Json object = describe(loaded, tensors);
  if (const Json experts = experts_of(model); !experts.is_null()) object["experts"] = experts;
  if (json) {
    print_json(object);
    return kDone;
  }
  print_line(concat(model, ": ", object["parameters"].get<size_t>(), " parameters, ",
                    object["bytes"].get<size_t>() / 1000, " kB in float32"));
  print_section("architecture", object["config"]);
  print_section("text", object["text"]);
  print_line(concat("vocabulary: ", object["source_vocabulary"].get<size_t>(), " source, ",
                    object["target_vocabulary"].get<size_t>(), " target symbols"));
  if (object.contains("experts")) print_section("experts, as last trained", object["experts"]);
  std::ostringstream tree;
  tree << parameters;
  print_line(tree.str());
  if (tensors) {
    print_line("tensors");
    for (const Json& t : object["tensors"]) {
      print_line(concat("  ", t["name"].get<std::string>(), ' ', t["shape"].dump()));
    }
  }
  return kDone;
}

}  // namespace rapt::app

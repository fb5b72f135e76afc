// Names of parameters: modules take a Scope and declare what they own.
//   Linear(scope / "linear1", d_model, d_ff) owns "….linear1.weight" and "….linear1.bias".
// Names and shapes are those of the state dict of PyTorch's nn.Transformer. What was declared is also
// what a printed model shows (module.h).
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rapt/base/philox.h"
#include "rapt/ops/dropout.h"
#include "rapt/ops/weight.h"

namespace rapt {

// Fills a new parameter: fan_in and fan_out are those of its matrix.
struct Init {
  enum class Kind { kZeros, kOnes, kXavierUniform, kNormal } kind = Kind::kZeros;
  float std = 0;         // of kNormal
  float gain = 1;        // then multiplies the rows …
  size_t first_row = 0;  // … from this one on
  static Init zeros() { return {}; }
  static Init ones() { return {Kind::kOnes}; }
  static Init xavier(float gain = 1, size_t first_row = 0) {
    return {Kind::kXavierUniform, 0, gain, first_row};
  }
  static Init normal(float std) { return {Kind::kNormal, std}; }
  bool is_random() const { return kind == Kind::kXavierUniform || kind == Kind::kNormal; }
};

// How a model's parameters get their first values. They depend on a parameter's name and the seed
// alone, not on what else there is.
struct Initializer {
  uint64_t seed = 0;
  // Instead of what modules ask for, matrices and embeddings; their gains stay.
  std::optional<Init> matrices = {};
  bool values = true;  // false: names and shapes only, values are loaded later

  static Initializer none() { return {.values = false}; }
};

// All parameters of a model, in the order of their declaration; tied ones once. Beside them its
// buffers: tensors that belong to the model but that no gradient reaches, such as running statistics.
class ParameterSet {
 public:
  // A module, or a parameter under one of its names.
  struct Declaration {
    std::string name, kind, settings;      // kind and settings: of a module
    const Parameter* parameter = nullptr;  // or this
    bool buffer = false;                   // which no gradient reaches
  };

  explicit ParameterSet(uint64_t seed) : initializer_{.seed = seed} {}
  explicit ParameterSet(const Initializer& initializer) : initializer_(initializer) {}
  ParameterSet(const ParameterSet&) = delete;
  ParameterSet& operator=(const ParameterSet&) = delete;

  size_t size() const { return order_.size(); }
  Parameter& operator[](size_t i) { return *order_[i]; }
  const Parameter& operator[](size_t i) const { return *order_[i]; }
  // Also buffers, and by a second name; null if unknown.
  Parameter* find(std::string_view name) const;
  size_t elements() const;  // of all parameters, tied ones once
  std::span<const std::unique_ptr<Parameter>> buffers() const { return buffers_; }
  std::vector<Parameter*> stored() const;  // parameters, then buffers: a file of weights
  const std::vector<Weight*>& weights() const { return weights_; }  // the matrices among them
  // Second names: {second, first}.
  const std::vector<std::pair<std::string, std::string>>& ties() const { return ties_; }
  const std::vector<Declaration>& declarations() const { return declarations_; }  // in order

 private:
  friend class Scope;
  Tensor new_value(const std::string& name, Shape shape, Init init);
  void add(const std::string& name, Parameter* parameter, bool buffer = false);
  uint32_t claim_site(Stream stream, const std::string& name);

  Initializer initializer_;
  std::vector<std::unique_ptr<Parameter>> order_, buffers_;
  std::vector<Weight*> weights_;
  std::map<std::string, Parameter*, std::less<>> by_name_;
  std::vector<std::pair<std::string, std::string>> ties_;
  std::vector<Declaration> declarations_;
  std::map<std::pair<Stream, uint32_t>, std::string> sites_;  // of random bits
};

class Scope {
 public:
  explicit Scope(ParameterSet& set, std::string name = "") : set_(&set), name_(std::move(name)) {}

  Scope operator/(std::string_view child) const;  // "encoder" / "layers" / "0"
  const std::string& name() const { return name_; }
  const ParameterSet& set() const { return *set_; }
  // Names the module of this scope for print: "Linear", and "heads=8" of MultiHeadAttention. Where
  // several modules share a scope, as the parts of an EncoderLayer do, the first to speak names it.
  void describe(std::string_view kind, std::string_view settings = {}) const;
  // A duplicate name throws InvalidArgument. References stay valid as long as the set.
  Parameter& parameter(std::string_view name, Shape shape, Init init) const;  // no weight decay
  Weight& weight(std::string_view name, size_t out, size_t in, Init init) const;
  Parameter& buffer(std::string_view name, Shape shape, Init init) const;
  void tie(std::string_view name, Weight& weight) const;  // a second name, stored once
  // The dropout `name` of this module; a collision of two sites throws.
  Dropout dropout(std::string_view name, double p) const;

 private:
  Parameter& declare(std::vector<std::unique_ptr<Parameter>>& list, std::string_view name,
                     Shape shape, Init init) const;

  ParameterSet* set_;
  std::string name_;
};

}  // namespace rapt

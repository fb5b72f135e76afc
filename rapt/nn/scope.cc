#include "rapt/nn/scope.h"

#include <algorithm>

#include "rapt/base/check.h"
#include "rapt/base/philox.h"
#include "rapt/base/random.h"

namespace rapt {
namespace {

void fill(const Tensor& value, Init init, uint64_t key) {
  if (init.kind == Init::Kind::kNormal) {
    fill_normal(value.span(), key, 0, init.std);
  } else {
    fill_xavier(value.span(), key, /*fan_in=*/value.cols(), /*fan_out=*/value.rows());
  }
  if (init.gain == 1) return;
  for (float& v : value.slice_rows(init.first_row, value.rows()).span()) v *= init.gain;
}

}  // namespace

Parameter* ParameterSet::find(std::string_view name) const {
  const auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : it->second;
}

size_t ParameterSet::elements() const {
  size_t total = 0;
  for (const auto& parameter : order_) total += parameter->value.size();
  return total;
}

std::vector<Parameter*> ParameterSet::stored() const {
  std::vector<Parameter*> all;
  for (const auto* list : {&order_, &buffers_}) {
    for (const auto& parameter : *list) all.push_back(parameter.get());
  }
  return all;
}

// A tensor without memory has a shape all the same.
Tensor ParameterSet::new_value(const std::string& name, Shape shape, Init init) {
  if (!initializer_.values) return Tensor::borrow(nullptr, shape, nullptr);
  if (shape.rank() > 1 && initializer_.matrices) {
    init.kind = initializer_.matrices->kind;
    init.std = initializer_.matrices->std;
  }
  const Tensor value(MemoryPool::process(), shape);
  if (init.is_random()) {
    const uint32_t site = claim_site(Stream::kInit, name);
    fill(value, init, op_key(initializer_.seed, Stream::kInit, site, 0));
  } else {
    std::ranges::fill(value.span(), init.kind == Init::Kind::kOnes ? 1.0f : 0.0f);
  }
  return value;
}

uint32_t ParameterSet::claim_site(Stream stream, const std::string& name) {
  const uint32_t site = site_of(name);
  const auto [it, is_new] = sites_.try_emplace({stream, site}, name);
  check(is_new, "two modules draw the same random bits: ", it->second, " and ", name,
        "; give one of them another name");
  return site;
}

void ParameterSet::add(const std::string& name, Parameter* parameter, bool buffer) {
  check(by_name_.try_emplace(name, parameter).second, "parameter ", name, " is declared twice");
  declarations_.push_back(
      {.name = name, .kind = {}, .settings = {}, .parameter = parameter, .buffer = buffer});
}

Scope Scope::operator/(std::string_view child) const {
  return Scope(*set_, name_.empty() ? std::string(child) : name_ + "." + std::string(child));
}

Parameter& Scope::parameter(std::string_view name, Shape shape, Init init) const {
  return declare(set_->order_, name, shape, init);
}

Parameter& Scope::buffer(std::string_view name, Shape shape, Init init) const {
  return declare(set_->buffers_, name, shape, init);
}

Parameter& Scope::declare(std::vector<std::unique_ptr<Parameter>>& list, std::string_view name,
                          Shape shape, Init init) const {
  auto parameter = std::make_unique<Parameter>();
  parameter->name = (*this / name).name();
  parameter->decay = false;
  set_->add(parameter->name, parameter.get(), &list == &set_->buffers_);
  parameter->value = set_->new_value(parameter->name, shape, init);
  list.push_back(std::move(parameter));
  return *list.back();
}

Weight& Scope::weight(std::string_view name, size_t out, size_t in, Init init) const {
  auto weight = std::make_unique<Weight>();
  Weight& result = *weight;
  result.name = (*this / name).name();
  set_->add(result.name, &result);
  result.value = set_->new_value(result.name, {out, in}, init);
  set_->order_.push_back(std::move(weight));
  set_->weights_.push_back(&result);
  return result;
}

void Scope::tie(std::string_view name, Weight& weight) const {
  const std::string second = (*this / name).name();
  set_->add(second, &weight);
  set_->ties_.emplace_back(second, weight.name);
}

void Scope::describe(std::string_view kind, std::string_view settings) const {
  set_->declarations_.push_back({name_, std::string(kind), std::string(settings)});
}

Dropout Scope::dropout(std::string_view name, double p) const {
  const Scope site = *this / name;
  site.describe("Dropout", concat("p=", p));
  return {p, set_->claim_site(Stream::kDropout, site.name())};
}

}  // namespace rapt

#include "rapt/autograd/context.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "rapt/base/check.h"

namespace rapt {
namespace {

constexpr size_t kElementBlock = size_t{1} << 14;

// y = a + b; y may be a or b.
void add(std::span<const float> a, std::span<const float> b, std::span<float> y, Pool& pool) {
  pool.row_blocks(y.size(), kElementBlock, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) y[i] = a[i] + b[i];
  });
}

}  // namespace

Context::Context(Mode mode, Pool& pool, uint64_t seed, uint64_t update, MemoryPool& memory)
    : mode_(mode), pool_(pool), memory_(memory), seed_(seed), update_(update), leaves_(64) {}

// ---- Leaves: a hash table by address, with linear probing.

size_t Context::slot_of(const float* key) const {
  const size_t mask = leaves_.size() - 1;
  size_t slot = (reinterpret_cast<uintptr_t>(key) >> 6) * 0x9E3779B97F4A7C15u >> 20 & mask;
  while (leaves_[slot].key != nullptr && leaves_[slot].key != key) slot = (slot + 1) & mask;
  return slot;
}

Context::Leaf& Context::find(const float* key) {
  if (2 * (leaf_count_ + 1) > leaves_.size()) {
    std::vector<Leaf> old(2 * leaves_.size());
    std::swap(old, leaves_);
    for (Leaf& leaf : old) {
      if (leaf.key != nullptr) leaves_[slot_of(leaf.key)] = std::move(leaf);
    }
  }
  Leaf& leaf = leaves_[slot_of(key)];
  if (leaf.key == nullptr) {
    leaf.key = key;
    ++leaf_count_;
  }
  return leaf;
}

Var Context::leaf(const Tensor& value) {
  if (!records()) return Var(value);
  Leaf& leaf = find(value.data());
  if (leaf.node == Var::kConstant) {
    leaf.node = static_cast<int32_t>(nodes_.size());
    nodes_.push_back({leaf.gradient, !leaf.gradient.empty()});
  }
  return Var(value, leaf.node);
}

void Context::bind(const Tensor& value, const Tensor& gradient) {
  check(value.shape() == gradient.shape(), "bind: gradient is ", gradient.shape(), ", value is ",
        value.shape());
  find(value.data()).gradient = gradient;
}

Tensor Context::gradient(const Tensor& value) const {
  const Leaf& leaf = leaves_[slot_of(value.data())];
  if (leaf.key == nullptr) return {};
  if (!leaf.gradient.empty()) return leaf.gradient;
  return leaf.node == Var::kConstant ? Tensor() : nodes_[static_cast<size_t>(leaf.node)].gradient;
}

// ---- Backward

void Context::backward(const Var& y, float factor) {
  const Tensor dy = empty(y.shape());
  std::ranges::fill(dy.span(), factor);
  backward(y, dy);
}

void Context::backward(const Var& y, const Tensor& dy) {
  check(records(), "backward: the context is for inference, which records nothing");
  check(!y.constant(), "backward: the value depends on no variable");
  check(dy.shape() == y.shape(), "backward: dy is ", dy.shape(), ", expected ", y.shape());
  accumulate(nodes_[static_cast<size_t>(y.node())], dy);
  run_tape();
}

void Context::run_tape() {
  Grads grads(*this);
  for (; !tape_.empty(); tape_.pop()) {
    const Tape::Record& record = tape_.back();
    std::array<Tensor, kMostOutputs> dys;
    bool reached = false;
    for (size_t i = 0; i < record.outputs; ++i) {
      Node& node = nodes_[static_cast<size_t>(record.first_output) + i];
      dys[i] = std::exchange(node.gradient, Tensor());
      reached = reached || !dys[i].empty();
    }
    if (!reached) continue;
    const std::span<const Tensor> outputs(dys.data(), record.outputs);
    if (checked_) look_for_non_finite(record.op, "gradient", outputs);
    record.call(record.function, outputs, grads);
    if (profiler_) profiler_(record.op, Phase::kBackward, outputs);
  }
  tape_.clear();
}

// The first gradient of a node is shared, not copied; the sum of several has memory of its own.
void Context::accumulate(Node& node, const Tensor& dx) {
  if (node.gradient.empty()) {
    node.gradient = dx;
    return;
  }
  const Tensor sum = node.bound || node.gradient.unique() ? node.gradient : empty(dx.shape());
  add(node.gradient.span(), dx.span(), sum.span(), pool_);
  node.gradient = sum;
}

void Context::clear() {
  tape_.clear();
  nodes_.clear();
  side_losses_.clear();
  for (Leaf& leaf : leaves_) leaf.node = Var::kConstant;
  non_finite_.reset();
}

void Context::clear(uint64_t update) {
  clear();
  update_ = update;
  deferred_.clear();
}

void Context::commit() {
  for (const auto& change : deferred_) change();
  deferred_.clear();
}

void Context::look_for_non_finite(const char* op, const char* what,
                                  std::span<const Tensor> values) {
  if (non_finite_) return;
  for (const Tensor& value : values) {
    if (std::ranges::all_of(value.span(), [](float v) { return std::isfinite(v); })) continue;
    non_finite_ = concat(op, " (", what, ")");
    return;
  }
}

// ---- Grads

Tensor Grads::empty(const Var& x) const { return context_.empty(x.shape()); }
Tensor Grads::empty(Shape shape) const { return context_.empty(shape); }
Pool& Grads::pool() const { return context_.pool(); }
MemoryPool& Grads::memory() const { return context_.memory(); }

Tensor Grads::of(const Var& x) const {
  if (x.constant()) return context_.empty(x.shape());
  Context::Node& node = context_.nodes_[static_cast<size_t>(x.node())];
  if (node.gradient.empty()) {
    node.gradient = Tensor::zeros(x.shape(), context_.memory());
  } else if (!node.bound && !node.gradient.unique()) {
    node.gradient = node.gradient.clone(context_.memory());
  }
  return node.gradient;
}

void Grads::add(const Var& x, const Tensor& dx) const {
  if (x.constant()) return;
  check(dx.shape() == x.shape(), "gradient is ", dx.shape(), ", its variable is ", x.shape());
  context_.accumulate(context_.nodes_[static_cast<size_t>(x.node())], dx);
}

}  // namespace rapt

// A stream of work: mode, threads, memory, random state, and the tape of what was computed.
// Models and pools are shared by contexts; a context belongs to one thread at a time.
#pragma once
#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "rapt/autograd/tape.h"
#include "rapt/base/philox.h"

namespace rapt {

enum class Mode {
  kTraining,    // records for backward(), applies dropout
  kEvaluation,  // records, no dropout
  kInference,   // neither; uses packed weights
};

class Context {
 public:
  // `update` counts optimiser updates: with the seed it names the random bits of the step.
  Context(Mode mode, Pool& pool, uint64_t seed = 0, uint64_t update = 0,
          MemoryPool& memory = MemoryPool::process());

  Mode mode() const { return mode_; }
  bool records() const { return mode_ != Mode::kInference; }
  bool training() const { return mode_ == Mode::kTraining; }
  Pool& pool() const { return pool_; }
  MemoryPool& memory() const { return memory_; }
  uint64_t seed() const { return seed_; }
  uint64_t update() const { return update_; }
  // The key of the dropout bits of a site in this update.
  uint64_t dropout_key(uint32_t site) const {
    return op_key(seed_, Stream::kDropout, site, update_);
  }

  Tensor empty(Shape shape) const { return Tensor(memory_, shape); }  // not cleared
  template <class T>
  Buffer<T> buffer(size_t n) const {
    return Buffer<T>(memory_, n);
  }

  // A variable that wants a gradient. The same memory gives the same variable, so tied weights
  // collect one gradient. In inference it is a constant.
  Var leaf(const Tensor& value);
  // Where the gradient of `value` is added, in this and later steps; unbound leaves get their own.
  void bind(const Tensor& value, const Tensor& gradient);

  // Puts y on the tape. f is void(const Tensor& dy, Grads&), called at most once, and only if y
  // has a gradient. Does nothing but wrap y in inference.
  template <class F>
  Var record(const char* op, Tensor y, F&& f) {
    return record(op, std::array{std::move(y)},
                  [f = std::forward<F>(f)](std::span<const Tensor> dys, Grads& grads) mutable {
                    f(dys[0], grads);
                  })[0];
  }
  // Several outputs: void(span<const Tensor> dys, Grads&); the dy of an unused output is empty.
  template <size_t N, class F>
  std::array<Var, N> record(const char* op, std::array<Tensor, N> ys, F&& f) {
    static_assert(N <= kMostOutputs);
    if (checked_) look_for_non_finite(op, "value", ys);
    if (profiler_) profiler_(op, Phase::kForward, ys);
    const auto first = static_cast<int32_t>(nodes_.size());
    std::array<Var, N> vars;
    for (size_t i = 0; i < N; ++i) {
      vars[i] = Var(std::move(ys[i]), records() ? first + static_cast<int32_t>(i) : Var::kConstant);
    }
    if (records()) {
      nodes_.resize(nodes_.size() + N);
      tape_.push(op, first, N, std::forward<F>(f));
    }
    return vars;
  }

  // Gradients of `factor` times the sum of y's elements, into the leaves. Empties the tape.
  void backward(const Var& y, float factor = 1.0f);
  void backward(const Var& y, const Tensor& dy);  // dy of y's shape
  // Of a leaf, after backward(); empty if nothing reached it.
  Tensor gradient(const Tensor& leaf) const;

  // Forgets the tape and all variables, keeps bindings and memory: before the next shard of a step …
  void clear();
  void clear(uint64_t update);  // … or the start of a new one, which forgets deferred changes too

  // What a training step changes in a model besides its weights, such as running statistics, waits
  // for commit(), which makes the changes in their order. So a forward pass only reads the model,
  // and a step that failed has changed nothing.
  void defer(std::function<void()> change) { deferred_.push_back(std::move(change)); }
  void commit();

  // What a module adds to the objective of the step beside its output: the experts of a mixture
  // their balance. Forgotten by clear().
  struct SideLoss {
    std::string_view module;  // its full name
    Var value;                // scalar
    Tensor load;              // what it judges: the share of each expert
  };
  void add_loss(SideLoss loss) { side_losses_.push_back(std::move(loss)); }
  std::span<const SideLoss> side_losses() const { return side_losses_; }

  // Shows inner values to an observer: explain, insight. Without one it does nothing.
  using Observer = std::function<void(std::string_view name, const Tensor& value)>;
  void observe(Observer observer) { observer_ = std::move(observer); }
  bool observed() const { return observer_ != nullptr; }
  void watch(std::string_view name, const Tensor& value) const {
    if (observer_) observer_(name, value);
  }

  // Tells a profiler what has just been computed: after each operation its values, after the
  // backward function of each the gradients that it read. The time between two calls is that of
  // the later one.
  enum class Phase { kForward, kBackward };
  using Profiler = std::function<void(const char* op, Phase phase, std::span<const Tensor> values)>;
  void profile(Profiler profiler) { profiler_ = std::move(profiler); }

  // Checked mode: the same bits, but the results of each operation are searched for NaN and
  // infinity.
  void set_checked(bool on) { checked_ = on; }
  // The first operation that made one: "softmax (value)" or "linear (gradient)".
  const std::optional<std::string>& first_non_finite() const { return non_finite_; }

 private:
  friend class Grads;
  static constexpr size_t kMostOutputs = 8;
  struct Node {
    Tensor gradient;
    bool bound = false;  // `gradient` is the caller's: always added to, in place
  };
  struct Leaf {  // an entry of the open-addressing table `leaves_`
    const float* key = nullptr;
    int32_t node = Var::kConstant;
    Tensor gradient;  // when bound
  };
  size_t slot_of(const float* key) const;  // where the key is, or the free place for it
  Leaf& find(const float* key);
  void run_tape();
  void accumulate(Node& node, const Tensor& dx);
  void look_for_non_finite(const char* op, const char* what, std::span<const Tensor> values);

  Mode mode_;
  Pool& pool_;
  MemoryPool& memory_;
  uint64_t seed_, update_;
  Tape tape_;
  std::vector<Node> nodes_;
  std::vector<Leaf> leaves_;
  size_t leaf_count_ = 0;
  std::vector<std::function<void()>> deferred_;
  std::vector<SideLoss> side_losses_;
  Observer observer_;
  Profiler profiler_;
  bool checked_ = false;
  std::optional<std::string> non_finite_;
};

}  // namespace rapt

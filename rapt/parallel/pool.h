// The thread pool. One is shared by everything in a process; kernels take it last and own the loop.
#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace rapt {

// A borrowed callable: no allocation, lives as long as the call that it is passed to.
template <class Signature>
class FunctionRef;
template <class R, class... Args>
class FunctionRef<R(Args...)> {
 public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef>)
      FunctionRef(const F& f)  // NOLINT: implicit on purpose
      : object_(&f), call_([](const void* o, Args... args) -> R {
          return (*static_cast<const F*>(o))(std::forward<Args>(args)...);
        }) {}
  R operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }

 private:
  const void* object_;
  R (*call_)(const void*, Args...);
};

// Rows that one task of a row-wise kernel takes. Part of the bits: parameter gradients are one
// partial sum per block, added in block order.
inline constexpr size_t kRowBlock = 64;
constexpr size_t row_block_count(size_t rows) { return (rows + kRowBlock - 1) / kRowBlock; }

// * Tasks start in index order, one at a time per thread; the caller works too.
// * Concurrent callers queue. A call from inside a task runs inline, on the same thread.
// * The exception of the lowest task that threw is rethrown when all have ended.
// * After fork the child has a pool of its own, made at its first call.
// * Workers flush denormals; the caller does so for the length of a call and is then restored.
// * Idle workers spin for at most 200 us, then sleep.
class Pool {
 public:
  explicit Pool(size_t threads);  // >= 1, the caller included
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  size_t threads() const;

  // f(task) for task = 0 … tasks - 1.
  void run(size_t tasks, FunctionRef<void(size_t)> f);

  // The same with `floats` of 64-byte aligned scratch, not cleared, valid for the task. Kept by the
  // thread between calls, so that a steady state allocates nothing.
  void run(size_t tasks, size_t floats, FunctionRef<void(size_t, float*)> f);

  // f(begin, end) for consecutive blocks of `block` rows.
  void row_blocks(size_t rows, size_t block, FunctionRef<void(size_t, size_t)> f);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// The number of physical cores that this process may use: the default size of a pool.
size_t physical_cores();

}  // namespace rapt

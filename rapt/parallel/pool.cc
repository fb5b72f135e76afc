#include "rapt/parallel/pool.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "rapt/base/check.h"
#include "rapt/parallel/flush_denormals.h"
#include "rapt/parallel/scratch.h"

namespace rapt {
namespace {

using Task = FunctionRef<void(size_t, float*)>;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Waiting that is over after some time by the clock, however slow a pause of this CPU is.
class Spin {
 public:
  explicit Spin(std::chrono::microseconds limit) : limit_(limit) {}
  // Pauses; false once the time is up.
  bool once() {
    relax();
    if (++turns_ % kTurnsPerLook != 0) return true;
    const auto now = std::chrono::steady_clock::now();
    if (turns_ == kTurnsPerLook) end_ = now + limit_;
    return now < end_;
  }

 private:
  static constexpr uint32_t kTurnsPerLook = 32;
  std::chrono::microseconds limit_;
  std::chrono::steady_clock::time_point end_;
  uint32_t turns_ = 0;
};

constexpr std::chrono::microseconds kSpin{200};       // a worker, before it sleeps
constexpr std::chrono::microseconds kCallerSpin{20};  // the caller, before it yields

// What a thread knows of the calls that it is in: how deep, and one scratch buffer a level, so that
// a call from inside a task leaves the scratch of that task alone.
struct Calls {
  size_t depth = 0;
  std::vector<ScratchBuffer> scratch;

  float* reserve(size_t floats) {
    if (floats == 0) return nullptr;
    if (scratch.size() <= depth) scratch.resize(depth + 1);
    return scratch[depth].reserve(floats);
  }
};
thread_local Calls calls;

class Entered {
 public:
  Entered() { ++calls.depth; }
  ~Entered() { --calls.depth; }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;
};

void run_inline(size_t tasks, size_t floats, const Task& task) {
  const FlushDenormals flush;
  float* const scratch = calls.reserve(floats);
  const Entered entered;
  for (size_t i = 0; i < tasks; ++i) task(i, scratch);
}

// The threads of a pool and the job that they share. A job is open while `remaining_` is not 0; who
// lowers it from r to r - 1 owns task count_ - r, and until `unfinished_` is 0 nobody changes the
// job. So a worker that wakes late just finds nothing, and no call waits for it.
class Crew {
 public:
  explicit Crew(size_t workers) : scratch_(workers), lent_(workers + 1) {
    threads_.reserve(workers);
    try {
      for (size_t w = 0; w < workers; ++w) {
        threads_.emplace_back([this, w] { serve(w + 1); });
      }
    } catch (...) {
      stop();
      throw;
    }
  }
  ~Crew() { stop(); }
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // Threads live in the process that made them; a fork leaves them behind.
  bool is_ours() const { return process_ == getpid(); }

  void run(size_t tasks, size_t floats, const Task& task) {
    const std::lock_guard queue(queue_);
    const FlushDenormals flush;
    // All memory is got here, not by whoever claims a task: which thread does is chance, and a
    // steady state must not depend on it.
    lent_[0] = calls.reserve(floats);
    for (size_t w = 0; w < scratch_.size(); ++w) lent_[w + 1] = scratch_[w].reserve(floats);
    task_ = &task;
    count_ = tasks;
    unfinished_.store(static_cast<uint32_t>(tasks), std::memory_order_relaxed);
    remaining_.store(tasks);  // in one order with `sleeping_`: here and in `sleep`
    if (sleeping_.load() != 0) wake(tasks - 1);
    work(0);
    wait();
    if (error_ != nullptr) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  // Claims tasks until none is left. After a failure the unclaimed ones are dropped: their indices
  // are higher than that of the lowest task that throws.
  void work(size_t thread) {
    const Entered entered;
    uint32_t done = 0;
    for (size_t r = remaining_.load(std::memory_order_relaxed); r != 0;) {
      if (!remaining_.compare_exchange_weak(r, r - 1, std::memory_order_acq_rel,
                                            std::memory_order_relaxed)) {
        continue;
      }
      const size_t index = count_ - r;
      ++done;
      try {
        (*task_)(index, lent_[thread]);
      } catch (...) {
        done += static_cast<uint32_t>(remaining_.exchange(0, std::memory_order_acq_rel));
        fail(index);
      }
      r = remaining_.load(std::memory_order_relaxed);
    }
    if (done != 0 && unfinished_.fetch_sub(done, std::memory_order_acq_rel) == done) {
      unfinished_.notify_one();
    }
  }

  void fail(size_t index) {
    const std::lock_guard lock(mutex_);
    if (error_ != nullptr && failed_ < index) return;
    error_ = std::current_exception();
    failed_ = index;
  }

  // The caller yields early: a worker may have been put on its core. A long wait is a sleep.
  void wait() {
    Spin spin(kCallerSpin), yield(kSpin);
    for (uint32_t n; (n = unfinished_.load(std::memory_order_acquire)) != 0;) {
      if (spin.once()) continue;
      if (yield.once()) {
        std::this_thread::yield();
      } else {
        unfinished_.wait(n, std::memory_order_acquire);
      }
    }
  }

  void wake(size_t most) {
    const std::lock_guard lock(mutex_);
    for (size_t n = std::min(most, threads_.size()); n != 0; --n) wake_.notify_one();
  }

  void serve(size_t thread) {
    const FlushDenormals flush;
    for (Spin spin(kSpin); !stop_.load(std::memory_order_relaxed);) {
      if (remaining_.load(std::memory_order_relaxed) != 0) {
        work(thread);
      } else if (spin.once()) {
        continue;
      } else {
        sleep();
      }
      spin = Spin(kSpin);
    }
  }

  void sleep() {
    std::unique_lock lock(mutex_);
    ++sleeping_;
    wake_.wait(lock, [&] { return remaining_.load() != 0 || stop_.load(); });
    --sleeping_;
  }

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  const pid_t process_ = getpid();
  std::mutex queue_;  // callers
  std::vector<ScratchBuffer> scratch_;
  std::vector<std::thread> threads_;

  // The job.
  std::vector<float*> lent_;  // by thread, the caller first
  const Task* task_ = nullptr;
  size_t count_ = 0;
  alignas(kCacheLine) std::atomic<size_t> remaining_{0};     // not yet claimed
  alignas(kCacheLine) std::atomic<uint32_t> unfinished_{0};  // not yet ended; a futex

  alignas(kCacheLine) std::atomic<size_t> sleeping_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;  // of sleeping, and of the error
  std::condition_variable wake_;
  std::exception_ptr error_;
  size_t failed_ = 0;
};

}  // namespace

class Pool::Impl {
 public:
  explicit Impl(size_t threads) : threads_(threads) {}
  ~Impl() {
    Crew* const crew = crew_.load();
    if (crew != nullptr && crew->is_ours()) delete crew;
  }
  size_t threads() const { return threads_; }

  // The crew of this process, made at its first call. That of a process which forked is left as it
  // is: its threads cannot be joined, and its mutexes may be locked for ever.
  Crew& crew() {
    Crew* crew = crew_.load(std::memory_order_acquire);
    if (crew != nullptr && crew->is_ours()) return *crew;
    auto mine = std::make_unique<Crew>(threads_ - 1);
    if (crew_.compare_exchange_strong(crew, mine.get(), std::memory_order_acq_rel)) {
      return *mine.release();
    }
    return *crew;  // another thread of this process was first
  }

 private:
  const size_t threads_;
  std::atomic<Crew*> crew_{nullptr};
};

Pool::Pool(size_t threads) {
  check(threads >= 1, "Pool: the number of threads is ", threads, ", expected at least 1");
  impl_ = std::make_unique<Impl>(threads);
}

Pool::~Pool() = default;

size_t Pool::threads() const { return impl_->threads(); }

void Pool::run(size_t tasks, size_t floats, FunctionRef<void(size_t, float*)> f) {
  if (tasks == 0) return;
  if (tasks == 1 || impl_->threads() == 1 || calls.depth != 0) return run_inline(tasks, floats, f);
  check(tasks <= std::numeric_limits<uint32_t>::max(), "Pool: ", tasks, " tasks, expected < 2^32");
  impl_->crew().run(tasks, floats, f);
}

void Pool::run(size_t tasks, FunctionRef<void(size_t)> f) {
  run(tasks, 0, [f](size_t task, float*) { f(task); });
}

void Pool::row_blocks(size_t rows, size_t block, FunctionRef<void(size_t, size_t)> f) {
  run((rows + block - 1) / block, 0, [=](size_t task, float*) {
    const size_t begin = task * block;
    f(begin, std::min(rows, begin + block));
  });
}

}  // namespace rapt

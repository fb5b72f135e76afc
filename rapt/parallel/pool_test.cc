#include "rapt/parallel/pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "rapt/base/check.h"
#if defined(__linux__)
#include <sched.h>
#endif

namespace {
std::atomic<size_t> allocations{0};
}  // namespace

// Not inlined: the compiler would take the pairs apart and warn of malloc and delete.
[[gnu::noinline]] void* operator new(size_t n) {
  ++allocations;
  if (void* p = std::malloc(n)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new[](size_t n, std::align_val_t alignment) {
  ++allocations;
  const size_t a = static_cast<size_t>(alignment);
  if (void* p = std::aligned_alloc(a, (n + a - 1) / a * a)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }

namespace rapt {
namespace {

using testing::Each;
using testing::ThrowsMessage;

constexpr size_t kThreads[] = {1, 2, 3, 5};

// Waits for another thread to come somewhere; a pool that never gets there fails by time-out.
template <class Condition>
void wait_until(const Condition& condition) {
  while (!condition()) std::this_thread::yield();
}

TEST(Pool, RunsEveryTaskOnce) {
  for (const size_t threads : kThreads) {
    Pool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (const size_t tasks : {0, 1, 2, 3, 7, 64, 1000}) {
      std::vector<std::atomic<int>> runs(tasks);
      pool.run(tasks, [&](size_t i) { ++runs[i]; });
      for (const auto& r : runs) EXPECT_EQ(r, 1);
    }
  }
}

TEST(Pool, RefusesToHaveNoThread) {
  EXPECT_THAT([] { Pool pool(0); }, ThrowsMessage<InvalidArgument>(
                                        "Pool: the number of threads is 0, expected at least 1"));
}

TEST(Pool, StartsTasksInIndexOrder) {
  Pool pool(1);
  std::vector<size_t> started;
  pool.run(5, [&](size_t i) { started.push_back(i); });
  EXPECT_EQ(started, (std::vector<size_t>{0, 1, 2, 3, 4}));
}

TEST(Pool, StartsTasksInIndexOrderOnSeveralThreads) {
  Pool pool(3);
  for (int round = 0; round < 50; ++round) {
    std::mutex mutex;
    std::map<std::thread::id, size_t> last;
    std::atomic<size_t> claimed{0};
    pool.run(200, [&](size_t i) {
      ++claimed;
      const std::lock_guard lock(mutex);
      const auto [at, first] = last.try_emplace(std::this_thread::get_id(), i);
      EXPECT_TRUE(first || at->second < i);
      at->second = i;
      // All below are claimed, and at most one a thread of them has not come to the line above.
      EXPECT_GE(claimed + pool.threads() - 1, i + 1);
    });
  }
}

TEST(Pool, WorksOnAllThreadsAtOnce) {
  for (const size_t threads : kThreads) {
    Pool pool(threads);
    std::atomic<size_t> inside{0};
    pool.run(threads, [&](size_t) {
      ++inside;
      wait_until([&] { return inside == threads; });
    });
  }
}

TEST(Pool, CutsRowsIntoBlocks) {
  Pool pool(3);
  for (const size_t rows : {0, 1, 63, 64, 65, 200}) {
    std::vector<std::atomic<int>> seen(rows);
    pool.row_blocks(rows, kRowBlock, [&](size_t begin, size_t end) {
      EXPECT_EQ(begin % kRowBlock, 0u);
      EXPECT_TRUE(end == rows || end == begin + kRowBlock);
      for (size_t r = begin; r < end; ++r) ++seen[r];
    });
    for (const auto& s : seen) EXPECT_EQ(s, 1);
  }
}

TEST(Pool, RunsNestedCallsInline) {
  Pool pool(3), other(2);
  pool.run(12, [&](size_t) {
    const auto here = std::this_thread::get_id();
    for (Pool* inner : {&pool, &other}) {
      std::vector<size_t> order;
      inner->run(5, [&](size_t i) {
        EXPECT_EQ(std::this_thread::get_id(), here);
        order.push_back(i);
      });
      EXPECT_EQ(order, (std::vector<size_t>{0, 1, 2, 3, 4}));
    }
  });
}

TEST(Pool, LendsAlignedScratchToEachThread) {
  for (const size_t threads : kThreads) {
    Pool pool(threads);
    for (const size_t floats : {1, 100, 5000, 7}) {
      std::mutex mutex;
      std::map<std::thread::id, float*> lent;
      pool.run(40, floats, [&](size_t i, float* scratch) {
        EXPECT_EQ(reinterpret_cast<uintptr_t>(scratch) % 64, 0u);
        const float mark = static_cast<float>(i);
        std::fill_n(scratch, floats, mark);
        std::this_thread::yield();
        EXPECT_THAT(std::vector<float>(scratch, scratch + floats), Each(mark));
        const std::lock_guard lock(mutex);
        EXPECT_EQ(lent.try_emplace(std::this_thread::get_id(), scratch).first->second, scratch);
      });
      std::set<float*> distinct;
      for (const auto& [thread, scratch] : lent) distinct.insert(scratch);
      EXPECT_EQ(distinct.size(), lent.size());
    }
  }
}

TEST(Pool, NestedScratchLeavesThatOfTheOuterTaskAlone) {
  for (const size_t threads : kThreads) {
    Pool pool(threads);
    pool.run(20, 64, [&](size_t i, float* outer) {
      std::fill_n(outer, 64, static_cast<float>(i));
      for (const size_t floats : {32, 64, 4096}) {
        pool.run(2, floats, [&](size_t, float* inner) {
          std::fill_n(inner, floats, -1.0f);
          pool.run(1, floats, [&](size_t, float* third) { std::fill_n(third, floats, -2.0f); });
          EXPECT_THAT(std::vector<float>(inner, inner + floats), Each(-1.0f));
        });
      }
      EXPECT_THAT(std::vector<float>(outer, outer + 64), Each(static_cast<float>(i)));
    });
  }
}

TEST(Pool, ASteadyStateAllocatesNothing) {
  for (const size_t threads : kThreads) {
    Pool pool(threads);
    const auto step = [&] {
      pool.run(16, 1000, [&](size_t, float* outer) {
        outer[0] = 1;
        pool.run(2, 500, [](size_t, float* inner) { inner[0] = 2; });
      });
      pool.row_blocks(500, kRowBlock, [](size_t, size_t) {});
    };
    // The level of nested calls belongs to a thread: let each of them have a task once.
    std::atomic<size_t> inside{0};
    pool.run(threads, 1000, [&](size_t, float*) {
      pool.run(2, 500, [](size_t, float*) {});
      ++inside;
      wait_until([&] { return inside == threads; });
    });
    step();
    const size_t before = allocations;
    for (int i = 0; i < 100; ++i) step();
    EXPECT_EQ(allocations - before, 0u) << threads << " threads";
  }
}

TEST(Pool, ThrowsTheExceptionOfTheLowestTask) {
  for (const size_t threads : {1, 2, 3}) {
    Pool pool(threads);
    for (int round = 0; round < 20; ++round) {
      std::atomic<bool> higher{false};
      const auto call = [&] {
        pool.run(50, [&](size_t i) {
          if (i == 3) {  // throws last
            if (threads > 1) wait_until([&] { return higher.load(); });
            throw std::runtime_error("task 3");
          }
          if (i == 5) {
            higher = true;
            throw std::runtime_error("task 5");
          }
        });
      };
      EXPECT_THAT(call, ThrowsMessage<std::runtime_error>("task 3"));
      std::atomic<size_t> runs{0};  // as good as new
      pool.run(50, [&](size_t) { ++runs; });
      EXPECT_EQ(runs, 50u);
    }
  }
}

TEST(Pool, QueuesConcurrentCallers) {
  for (const size_t threads : kThreads) {
    Pool pool(threads);
    std::vector<std::thread> callers;
    std::atomic<size_t> wrong{0};
    for (size_t c = 0; c < 4; ++c) {
      callers.emplace_back([&, c] {
        for (size_t round = 0; round < 50; ++round) {
          std::vector<size_t> out(9);
          pool.run(out.size(), 8, [&](size_t i, float* scratch) {
            scratch[0] = static_cast<float>(c * 1000 + i);
            std::this_thread::yield();
            out[i] = static_cast<size_t>(scratch[0]);
          });
          for (size_t i = 0; i < out.size(); ++i) wrong += out[i] != c * 1000 + i;
        }
      });
    }
    for (std::thread& caller : callers) caller.join();
    EXPECT_EQ(wrong, 0u);
  }
}

float half(float x) {
  const volatile float v = x;
  return v * 0.5f;
}

TEST(Pool, FlushesDenormalsAndRestoresTheCaller) {
  const float smallest = std::numeric_limits<float>::min();
  for (const size_t threads : kThreads) {
    Pool pool(threads);
    std::atomic<size_t> inside{0};
    pool.run(threads, [&](size_t) {
      EXPECT_EQ(half(smallest), 0.0f);
      pool.run(1, [](size_t) {});
      EXPECT_EQ(half(smallest), 0.0f);
      ++inside;
      wait_until([&] { return inside == threads; });
    });
    EXPECT_GT(half(smallest), 0.0f);
    EXPECT_ANY_THROW(pool.run(4, [](size_t) { throw std::runtime_error("stop"); }));
    EXPECT_GT(half(smallest), 0.0f);
  }
}

#if defined(__linux__) && !defined(__SANITIZE_THREAD__)  // which forbids threads after a fork
TEST(Pool, WorksInAForkedProcess) {
  Pool used(3), fresh(2);
  const auto sum = [](Pool& pool) {
    std::atomic<size_t> total{0};
    pool.run(100, [&](size_t i) { total += i; });
    return total.load();
  };
  ASSERT_EQ(sum(used), 4950u);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);
    bool ok = sum(used) == 4950 && sum(used) == 4950 && sum(fresh) == 4950;
    { const Pool made_in_the_child(2); }
    _exit(ok ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(sum(used), 4950u);
}

TEST(Pool, DestroysAPoolOfTheParentInAForkedProcess) {
  auto pool = std::make_unique<Pool>(3);
  pool->run(10, [](size_t) {});
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);
    pool.reset();
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}
#endif

#if defined(__linux__)
// The state letters of all threads but this one.
std::string states() {
  std::string all;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    if (entry.path().filename() == std::to_string(gettid())) continue;
    std::ifstream in(entry.path() / "stat");
    std::string line;
    std::getline(in, line);
    const size_t end = line.rfind(')');
    if (end != std::string::npos && end + 2 < line.size()) all += line[end + 2];
  }
  return all;
}

TEST(Pool, IdleWorkersSleep) {
  Pool pool(4);
  for (int round = 0; round < 3; ++round) {
    pool.run(100, [](size_t) {});
    wait_until([] { return states().find_first_not_of("SD") == std::string::npos; });
    std::atomic<size_t> inside{0};
    pool.run(4, [&](size_t) {  // they wake again, all of them
      ++inside;
      wait_until([&] { return inside == 4; });
    });
  }
}

TEST(Pool, NeverTouchesAffinity) {
  const auto mask = [] {
    cpu_set_t set;
    EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
    return set;
  };
  const cpu_set_t before = mask();
  Pool pool(3);
  for (int round = 0; round < 20; ++round) {
    std::atomic<size_t> inside{0};
    pool.run(3, [&](size_t) {
      const cpu_set_t here = mask();
      EXPECT_TRUE(CPU_EQUAL(&here, &before));
      ++inside;
      wait_until([&] { return inside == 3; });
    });
  }
}

TEST(PhysicalCores, CountsOnlyWhatThisProcessMayUse) {
  EXPECT_GE(physical_cores(), 1u);
  EXPECT_LE(physical_cores(), std::thread::hardware_concurrency());
  std::thread pinned([] {
    cpu_set_t all, one;
    ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu) {
      if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
    }
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(physical_cores(), 1u);
  });
  pinned.join();
}
#endif

}  // namespace
}  // namespace rapt

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <thread>

#include "rapt/parallel/pool.h"
#if defined(__linux__)
#include <sched.h>
#endif

namespace rapt {
namespace {

size_t logical_cores() { return std::max(1u, std::thread::hardware_concurrency()); }

#if defined(__linux__)
// A core is named by its first hyper-thread; a CPU that tells nothing of its siblings is a core.
int core_of(int cpu) {
  std::ifstream in("/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                   "/topology/thread_siblings_list");
  int first = cpu;
  return in >> first ? first : cpu;
}

// The limit of a container in whole CPUs, rounded up. "max 100000" stands for none.
size_t quota() {
  std::ifstream in("/sys/fs/cgroup/cpu.max");
  size_t microseconds = 0, period = 0;
  if (!(in >> microseconds >> period) || period == 0) return logical_cores();
  return std::max<size_t>(1, (microseconds + period - 1) / period);
}
#endif

}  // namespace

size_t physical_cores() {
#if defined(__linux__)
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
    std::set<int> cores;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &allowed)) cores.insert(core_of(cpu));
    }
    return std::clamp<size_t>(cores.size(), 1, quota());
  }
#endif
  return logical_cores();
}

}  // namespace rapt

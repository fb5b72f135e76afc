// Which task of a call does what: a table of running counts in the caller's memory.
#pragma once
#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

namespace rapt::kernels::attn {

// Sequence s has count(s) tasks; they are numbered sequence after sequence.
class Plan {
 public:
  template <class Count>
  Plan(std::span<uint32_t> memory, size_t sequences, const Count& count)
      : first_(memory.first(sequences + 1)) {
    first_[0] = 0;
    for (size_t s = 0; s < sequences; ++s) {
      first_[s + 1] = first_[s] + static_cast<uint32_t>(count(s));
    }
  }
  size_t tasks() const { return first_.back(); }

  struct Place {
    size_t sequence, task;  // the task's number within its sequence
  };
  Place find(size_t task) const {
    const auto after = std::upper_bound(first_.begin(), first_.end(), task);
    const size_t s = static_cast<size_t>(after - first_.begin()) - 1;
    return {s, task - first_[s]};
  }

 private:
  std::span<uint32_t> first_;
};

}  // namespace rapt::kernels::attn

// Memory requested ahead of its use: rows, or narrow strips of far rows, which no prefetcher of the
// CPU foresees. All requests at once would fill the queue of misses and stop the computation that
// should hide them, so they go out a few at a time, between its tiles.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>

namespace rapt::kernels {

struct Strip {
  const float* x;
  size_t stride, rows, width;
  size_t lines_a_row() const { return (width + kLine - 1) / kLine; }
  size_t lines() const { return rows * lines_a_row(); }
  static constexpr size_t kLine = 16;  // floats
};

class StripPrefetch {
 public:
  explicit StripPrefetch(size_t lines_a_step) : lines_a_step_(lines_a_step) {}
  // One strip, over so many steps.
  StripPrefetch(const Strip& strip, size_t steps)
      : StripPrefetch((strip.lines() + steps - 1) / std::max<size_t>(1, steps)) {
    add(strip);
  }
  void add(const Strip& strip) {
    if (strip.lines() > 0) strips_[count_++] = strip;
  }
  // Requests the next rows, into L2.
  void step() {
    for (size_t lines = 0; lines < lines_a_step_ && next_ < count_;) {
      Strip& s = strips_[next_];
      const size_t a_row = s.lines_a_row(),
                   rows = std::min(s.rows, (lines_a_step_ - lines + a_row - 1) / a_row);
      const float* x = s.x;
      for (size_t r = 0; r < rows; ++r, x += s.stride) {
        for (size_t i = 0; i < s.width; i += Strip::kLine) __builtin_prefetch(x + i, 0, 2);
      }
      lines += rows * a_row;
      s.x = x;
      s.rows -= rows;
      if (s.rows == 0) ++next_;
    }
  }

 private:
  size_t lines_a_step_, count_ = 0, next_ = 0;
  std::array<Strip, 8> strips_;
};

}  // namespace rapt::kernels

// The best validation so far, and when to give up waiting for a better one.
#pragma once
#include <cmath>
#include <cstdint>
#include <optional>

#include "rapt/metrics/metric.h"

namespace rapt {

struct Best {
  struct Found {
    uint64_t step = 0;
    double value = 0;
    bool operator==(const Found&) const = default;
  };
  std::optional<Found> found;
  uint64_t worse = 0;  // validations since

  // True when `value` is better than all before. The first of equals stays the best; NaN is never
  // better.
  bool update(const metrics::Metric& metric, uint64_t step, double value) {
    const bool better = !std::isnan(value) && (!found || metric.better(value, found->value));
    if (better) {
      found = Found{step, value};
      worse = 0;
    } else {
      ++worse;
    }
    return better;
  }
  bool give_up(uint64_t patience) const { return patience > 0 && worse >= patience; }
  bool operator==(const Best&) const = default;
};

}  // namespace rapt

#include "rapt/insight/scale.h"

#include <charconv>
#include <cmath>

#include "rapt/base/check.h"

namespace rapt::insight {

double scale_of(const std::string& scale, size_t d_k) {
  if (scale == "sqrt") return 1 / std::sqrt(static_cast<double>(d_k));
  if (scale == "none") return 1;
  double value = 0;
  const char* const end = scale.data() + scale.size();
  const auto [stop, error] = std::from_chars(scale.data(), end, value);
  check(error == std::errc() && stop == end && value > 0 && value <= 1e6, "--scale is '", scale,
        "', expected sqrt, none or a positive number up to 1e6");
  return value;
}

}  // namespace rapt::insight

#include "rapt/train/schedule.h"

#include <algorithm>
#include <cmath>

#include "rapt/base/scalar_math.h"

namespace rapt {

Schedule::Schedule(const TrainOptions& options, uint64_t total_steps)
    : kind_(options.schedule),
      lr_(options.lr),
      min_lr_(options.min_lr),
      warmup_(options.warmup_steps),
      total_(total_steps) {
  check(!options.schedule_needs_length() || total_ > 0, "the ", name_of(kind_),
        " schedule needs the number of steps, which is 0");
}

double Schedule::at(uint64_t step) const {
  const auto t = static_cast<double>(step), w = static_cast<double>(warmup_);
  if (step <= warmup_) return lr_ * t / w;
  const double span = total_ > warmup_ ? static_cast<double>(total_ - warmup_) : 1;
  const double p = std::min((t - w) / span, 1.0);
  switch (kind_) {
    case ScheduleKind::kInverseSqrt:
      return std::max(lr_ * std::sqrt(std::max(w, 1.0) / t), min_lr_);
    case ScheduleKind::kLinear:
      return min_lr_ + (lr_ - min_lr_) * (1 - p);
    case ScheduleKind::kCosine:
      return min_lr_ + (lr_ - min_lr_) * 0.5 * (1 + scalar::cos(scalar::kPi * p));
    case ScheduleKind::kConstant:
      break;
  }
  return lr_;
}

}  // namespace rapt

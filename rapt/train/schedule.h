// Learning rates, in double by scalar_math alone. Step t counts from 1, T is the last one.
//   warm-up       lr t / w                                          for t <= w, in every schedule
//   inverse-sqrt  lr sqrt(max(w, 1) / t)                            (Vaswani et al., 2017)
//   linear        min + (lr - min) (1 - p)     p = (t - w) / (T - w), at most 1
//   cosine        min + (lr - min) (1 + cos(pi p)) / 2              (Loshchilov and Hutter, 2017)
//   constant      lr
// No schedule falls below `min` after its warm-up.
#pragma once
#include "rapt/train/options.h"

namespace rapt {

class Schedule {
 public:
  // total_steps matters to linear and cosine only. Throws InvalidArgument when it is 0 for these.
  Schedule(const TrainOptions& options, uint64_t total_steps);
  double at(uint64_t step) const;  // step >= 1

 private:
  ScheduleKind kind_;
  double lr_, min_lr_;
  uint64_t warmup_, total_;
};

}  // namespace rapt

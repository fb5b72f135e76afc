#include "rapt/insight/weights.h"

#include <algorithm>
#include <cmath>

#include "rapt/base/scalar_math.h"

namespace rapt::insight {

std::vector<double> softmax(std::span<const double> scores) {
  const double greatest = *std::ranges::max_element(scores);
  std::vector<double> p;
  double sum = 0;
  for (const double s : scores) sum += p.emplace_back(scalar::exp(s - greatest));
  for (double& v : p) v /= sum;
  return p;
}

double entropy(std::span<const double> p) {
  double sum = 0;
  for (const double v : p) sum -= v > 0 ? v * scalar::log(v) : 0;
  return sum;
}

double moved(std::span<const double> p, std::span<const double> q) {
  double sum = 0;
  for (size_t i = 0; i < p.size(); ++i) sum += std::fabs(p[i] - q[i]);
  return sum / 2;
}

}  // namespace rapt::insight

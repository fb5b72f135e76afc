#include "rapt/nn/positions.h"

#include <algorithm>
#include <bit>
#include <mutex>
#include <vector>

#include "rapt/base/scalar_math.h"

namespace rapt::nn {
namespace {

// Angles of position 1: 10000^(-i / pairs), or 10000^(-i / (pairs - 1)) for halves.
std::vector<double> frequencies(size_t d_model, PositionLayout layout) {
  const bool halves = layout == PositionLayout::kHalves;
  std::vector<double> result(halves ? d_model / 2 : (d_model + 1) / 2);
  const double steps = halves ? std::max(1.0, static_cast<double>(result.size()) - 1)
                              : static_cast<double>(d_model) / 2;
  for (size_t i = 0; i < result.size(); ++i) {
    result[i] = scalar::pow(10000, -static_cast<double>(i) / steps);
  }
  return result;
}

void fill_row(std::span<float> row, size_t t, PositionLayout layout,
              std::span<const double> frequencies) {
  const size_t half = row.size() / 2;
  std::ranges::fill(row, 0.0f);
  for (size_t i = 0; i < frequencies.size(); ++i) {
    const double angle = static_cast<double>(t) * frequencies[i];
    const bool halves = layout == PositionLayout::kHalves;
    const size_t sine = halves ? i : 2 * i, cosine = halves ? half + i : 2 * i + 1;
    row[sine] = static_cast<float>(scalar::sin(angle));
    if (cosine < row.size()) row[cosine] = static_cast<float>(scalar::cos(angle));
  }
}

}  // namespace

void fill_sinusoids(std::span<float> row, size_t t, PositionLayout layout) {
  fill_row(row, t, layout, frequencies(row.size(), layout));
}

struct PositionTable::Sinusoids {
  Sinusoids(size_t d, PositionLayout l) : layout(l), frequencies(nn::frequencies(d, l)), width(d) {}

  Tensor rows(size_t positions) {
    const std::lock_guard lock(mutex);
    if (table.empty() || table.rows() < positions) {
      const size_t known = table.empty() ? 0 : table.rows(),
                   wanted = std::max<size_t>(128, positions);
      const Tensor next(MemoryPool::process(), {std::bit_ceil(wanted), width});
      std::ranges::copy(table.span(), next.data());
      for (size_t t = known; t < next.rows(); ++t) {
        fill_row(next.matrix().row(t), t, layout, frequencies);
      }
      table = next;
    }
    return table;
  }

  const PositionLayout layout;
  const std::vector<double> frequencies;
  const size_t width;
  std::mutex mutex;
  Tensor table;
};

PositionTable PositionTable::sinusoidal(size_t d_model, PositionLayout layout) {
  PositionTable result;
  result.sinusoids_ = std::make_shared<Sinusoids>(d_model, layout);
  return result;
}

PositionTable PositionTable::learned(const Weight& table) {
  PositionTable result;
  result.learned_ = &table;
  return result;
}

Var PositionTable::operator()(Context& ctx, size_t positions) const {
  if (learned_ != nullptr) return ctx.leaf(learned_->value);
  if (sinusoids_ != nullptr) return sinusoids_->rows(positions);
  return {};
}

}  // namespace rapt::nn

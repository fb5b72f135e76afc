#include "rapt/nn/positions.h"

#include <algorithm>
#include <bit>
#include <mutex>

#include "rapt/base/scalar_math.h"
#include "rapt/ops/rotary.h"

namespace rapt::nn {
namespace {

// base^(-i / steps), the angles of position 1.
std::vector<double> frequencies(size_t count, double base, double steps) {
  std::vector<double> result(count);
  for (size_t i = 0; i < count; ++i) {
    result[i] = scalar::pow(base, -static_cast<double>(i) / steps);
  }
  return result;
}

// Those of 10000^(-i / pairs), or 10000^(-i / (pairs - 1)) for halves.
std::vector<double> sinusoid_frequencies(size_t d_model, PositionLayout layout) {
  const bool halves = layout == PositionLayout::kHalves;
  const size_t count = halves ? d_model / 2 : (d_model + 1) / 2;
  return frequencies(
      count, 10000,
      halves ? std::max(1.0, static_cast<double>(count) - 1) : static_cast<double>(d_model) / 2);
}

void fill_sinusoids(std::span<float> row, size_t t, PositionLayout layout,
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

// C of the columns of a head, then S (kernels/rotary.h).
void fill_rotary(std::span<float> row, size_t t, kernels::RotaryPairs pairs,
                 std::span<const double> frequencies) {
  const size_t dim = row.size() / 2;
  const std::span<float> c = row.first(dim), s = row.last(dim);
  for (size_t i = 0; i < frequencies.size(); ++i) {
    const double angle = static_cast<double>(t) * frequencies[i];
    const bool halves = pairs == kernels::RotaryPairs::kHalves;
    const size_t first = halves ? i : 2 * i, second = halves ? i + dim / 2 : 2 * i + 1;
    c[first] = c[second] = static_cast<float>(scalar::cos(angle));
    s[second] = static_cast<float>(scalar::sin(angle));
    s[first] = -s[second];
  }
}

}  // namespace

size_t position_end(const Lengths& rows) {
  size_t end = 0;
  for (size_t s = 0; s < rows.sequences(); ++s) {
    end = std::max<size_t>(end, size_t{rows[s].past} + rows[s].size);
  }
  return end;
}

void fill_sinusoids(std::span<float> row, size_t t, PositionLayout layout) {
  fill_sinusoids(row, t, layout, sinusoid_frequencies(row.size(), layout));
}

struct GrowingTable::Rows {
  const size_t width;
  const Fill fill;
  std::mutex mutex;
  Tensor table;
};

GrowingTable::GrowingTable(size_t width, Fill fill)
    : rows_(new Rows{.width = width, .fill = std::move(fill)}) {}

Tensor GrowingTable::operator()(size_t positions) const {
  const std::lock_guard lock(rows_->mutex);
  Tensor& table = rows_->table;
  if (table.empty() || table.rows() < positions) {
    const size_t known = table.empty() ? 0 : table.rows(), wanted = std::max<size_t>(32, positions);
    const Tensor next(MemoryPool::process(), {std::bit_ceil(wanted), rows_->width});
    std::ranges::copy(table.span(), next.data());
    for (size_t t = known; t < next.rows(); ++t) rows_->fill(next.matrix().row(t), t);
    table = next;
  }
  return table;
}

PositionTable PositionTable::sinusoidal(size_t d_model, PositionLayout layout) {
  PositionTable result;
  result.sinusoids_ = GrowingTable(
      d_model,
      [layout, frequencies = sinusoid_frequencies(d_model, layout)](
          std::span<float> row, size_t t) { fill_sinusoids(row, t, layout, frequencies); });
  return result;
}

PositionTable PositionTable::learned(const Weight& table) {
  PositionTable result;
  result.learned_ = &table;
  return result;
}

Var PositionTable::operator()(Context& ctx, size_t positions) const {
  if (learned_ != nullptr) return ctx.leaf(learned_->value);
  if (!sinusoids_.none()) return sinusoids_(positions);
  return {};
}

RotaryPositions::RotaryPositions(size_t dim, double base, PositionLayout layout)
    : pairs_(layout == PositionLayout::kHalves ? kernels::RotaryPairs::kHalves
                                               : kernels::RotaryPairs::kNeighbours) {
  const size_t pairs = dim / 2;
  table_ = GrowingTable(
      2 * dim, [pairs_of = pairs_, w = frequencies(pairs, base, static_cast<double>(pairs))](
                   std::span<float> row, size_t t) { fill_rotary(row, t, pairs_of, w); });
}

Var RotaryPositions::operator()(Context& ctx, const Var& x, size_t heads,
                                const Lengths& rows) const {
  return ops::rotary(ctx, x, rows, table_(position_end(rows)), heads, pairs_);
}

std::vector<float> alibi_slopes(size_t heads) {
  const size_t power = std::bit_floor(heads);
  std::vector<float> slopes;
  const auto add = [&](size_t h, size_t of) {
    const double exponent = -8.0 * static_cast<double>(h) / static_cast<double>(of);
    slopes.push_back(static_cast<float>(scalar::pow(2, exponent)));
  };
  for (size_t h = 1; h <= power; ++h) add(h, power);
  for (size_t h = 1; slopes.size() < heads; h += 2) add(h, 2 * power);
  return slopes;
}

}  // namespace rapt::nn

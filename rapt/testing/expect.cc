#include "rapt/testing/expect.h"

#include <bit>

namespace rapt::testing {

Pool& test_pool() {
  static Pool pool(3);
  return pool;
}

Tensor random_tensor(Shape shape, uint32_t salt, float range) {
  const Tensor t = Tensor::zeros(shape);
  const uint64_t key = op_key(salt, Stream::kInit, static_cast<uint32_t>(shape.elements()), 0);
  for (size_t i = 0; i < t.size(); ++i) {
    const int16_t draw =
        draw16(key, {0, static_cast<uint32_t>(i / 8)}, static_cast<uint32_t>(i % 8));
    t.host()[i] = range * (static_cast<float>(draw) + 0.5f) / 32768.0f;
  }
  return t;
}

void expect_near(const Tensor& value, const Array<double>& expected, double tolerance) {
  ASSERT_EQ(value.size(), expected.data.size());
  ASSERT_EQ(value.cols(), expected.cols());
  double worst = -1;
  size_t where = 0;
  for (size_t i = 0; i < value.size(); ++i) {
    const double error =
        std::abs(value.host()[i] - expected.data[i]) / (1 + std::abs(expected.data[i]));
    if (std::isnan(error) || error > worst) worst = error, where = i;
    if (std::isnan(error)) break;
  }
  EXPECT_LE(worst, tolerance) << "at element " << where << " of " << value.shape() << ": "
                              << value.host()[where] << ", expected " << expected.data[where];
}

void expect_same_bits(const Tensor& value, const Tensor& expected) {
  ASSERT_EQ(value.shape(), expected.shape());
  for (size_t i = 0; i < value.size(); ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(value.host()[i]), std::bit_cast<uint32_t>(expected.host()[i]))
        << "at element " << i << " of " << value.shape() << ": " << value.host()[i] << ", expected "
        << expected.host()[i];
  }
}

void append_columns(const Tensor& wide, size_t cols, std::vector<float>& values) {
  for (size_t r = 0; r < wide.shape()[0]; ++r) {
    const std::span<float> row = wide.matrix().row(r);
    values.insert(values.end(), row.begin(), row.begin() + cols);
    for (const float v : row.subspan(cols)) EXPECT_EQ(v, 0) << "behind row " << r;
  }
}

}  // namespace rapt::testing

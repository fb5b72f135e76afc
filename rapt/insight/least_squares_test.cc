#include "rapt/insight/least_squares.h"

#include <gtest/gtest.h>

#include <vector>

#include "rapt/base/check.h"
#include "rapt/base/random.h"

namespace rapt::insight {
namespace {

constexpr size_t kRows = 400, kFitted = 300, kIn = 5;

struct Matrix {
  size_t cols;
  std::vector<float> values = std::vector<float>(kRows * cols);
  Matrix(size_t cols, uint64_t key) : cols(cols) { fill_normal(values, key, 0, 1); }
  MatrixView<float> view() { return {values.data(), kRows, cols}; }
};

TEST(ReadOut, RecoversALinearMapWhole) {
  Matrix x(kIn, 1), y(2, 2);
  for (size_t r = 0; r < kRows; ++r) {
    y.view().row(r)[0] = 2 * x.view().row(r)[0] - x.view().row(r)[4] + 7;
    y.view().row(r)[1] = 0.1f * x.view().row(r)[2];
  }
  EXPECT_NEAR(read_out(x.view(), y.view(), kFitted), 1, 1e-4);
}

TEST(ReadOut, RecoversTheShareOfTheVarianceThatIsThere) {
  Matrix x(kIn, 1), y(1, 2);  // y = x + noise of three times its variance
  for (size_t r = 0; r < kRows; ++r) {
    y.view().row(r)[0] = x.view().row(r)[3] + 1.7320508f * y.view().row(r)[0];
  }
  EXPECT_NEAR(read_out(x.view(), y.view(), kFitted), 0.25, 0.12);
}

TEST(ReadOut, FindsNothingInNoiseOrInAConstant) {
  Matrix x(kIn, 1), y(3, 2);
  EXPECT_NEAR(read_out(x.view(), y.view(), kFitted), 0, 0.1);
  std::fill(x.values.begin(), x.values.end(), 4.0f);
  EXPECT_EQ(read_out(x.view(), y.view(), kFitted), 0);
}

TEST(ReadOut, DoesNotDependOnTheScaleOfX) {
  Matrix x(kIn, 1), y(1, 2);
  for (size_t r = 0; r < kRows; ++r) y.view().row(r)[0] = x.view().row(r)[1];
  for (float& v : x.values) v *= 0x1p-40f;
  EXPECT_NEAR(read_out(x.view(), y.view(), kFitted), 1, 1e-4);
}

TEST(ReadOut, RefusesToMeasureWhatItFitted) {
  Matrix x(kIn, 1), y(1, 2);
  EXPECT_THROW(read_out(x.view(), y.view(), kRows), InvalidArgument);
}

}  // namespace
}  // namespace rapt::insight

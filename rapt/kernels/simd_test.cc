// map against the loop that it stands for, and the order of summation against its definition.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "rapt/testing/expect.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rapt/kernels/simd_test.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "rapt/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rapt::kernels::HWY_NAMESPACE {

float Sum(std::span<const float> x) { return sum(x); }

// {sum of x y, sum of 1}: the formula of a lane without an element is not 0.
std::array<float, 2> SumOfProducts(std::span<const float> x, std::span<const float> y) {
  return sums_of(
      [](Vec a, Vec b) HWY_ATTR {
        return std::array{hn::Mul(a, b), hn::Set(F32(), 1.0f)};
      },
      x, y);
}

void Difference(std::span<const float> x, std::span<const float> y, std::span<float> out) {
  map([](Vec a, Vec b) HWY_ATTR { return hn::Sub(a, b); }, out, x, y);
}

float Swap(std::span<float> x, std::span<float> y) {
  map([](Vec a, Vec b) HWY_ATTR { return std::array{b, a}; }, std::array{x, y}, x, y);
  return map_sum([](Vec a) HWY_ATTR { return hn::Add(a, a); }, x, x);
}

float Maximum(std::span<const float> x) { return maximum(x); }

}  // namespace rapt::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rapt::kernels {
HWY_EXPORT(Sum);
HWY_EXPORT(SumOfProducts);
HWY_EXPORT(Difference);
HWY_EXPORT(Swap);
HWY_EXPORT(Maximum);
namespace {

using testing::for_each_simd_target;

// Odd, exact and tail sizes for 4, 8 and 16 lanes and 32 virtual ones.
constexpr size_t kSizes[] = {1, 3, 4, 5, 8, 15, 16, 17, 31, 32, 33, 63, 64, 100, 512, 1000};

std::vector<float> values(size_t n, uint32_t salt) {
  const Tensor t = testing::random_tensor({n}, salt);
  return {t.host().begin(), t.host().end()};
}

// The definition: 32 lanes, folded in halves.
float ordered_sum(std::span<const float> x) {
  float lanes[32] = {};
  for (size_t i = 0; i < x.size(); ++i) lanes[i % 32] += x[i];
  for (size_t half = 16; half > 0; half /= 2) {
    for (size_t l = 0; l < half; ++l) lanes[l] += lanes[l + half];
  }
  return lanes[0];
}

uint32_t bits(float x) { return std::bit_cast<uint32_t>(x); }

TEST(Simd, SumsInTheOrderOfItsDefinition) {
  for_each_simd_target([] {
    for (const size_t n : kSizes) {
      const std::vector<float> x = values(n, 1), y = values(n, 2);
      EXPECT_EQ(bits(HWY_DYNAMIC_DISPATCH(Sum)(x)), bits(ordered_sum(x))) << n;
      std::vector<float> products(n);
      for (size_t i = 0; i < n; ++i) products[i] = x[i] * y[i];
      const auto sums = HWY_DYNAMIC_DISPATCH(SumOfProducts)(x, y);
      EXPECT_EQ(bits(sums[0]), bits(ordered_sum(products))) << n;
      EXPECT_EQ(sums[1], static_cast<float>(n));
    }
  });
}

TEST(Simd, MapsEveryElementAndNoOther) {
  for_each_simd_target([] {
    for (const size_t n : kSizes) {
      const std::vector<float> x = values(n, 1), y = values(n, 2);
      std::vector<float> out(n + 16, 7.0f);
      HWY_DYNAMIC_DISPATCH(Difference)(x, y, std::span(out).first(n));
      for (size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], i < n ? x[i] - y[i] : 7.0f) << n;
    }
  });
}

TEST(Simd, MapsToSeveralRowsInPlace) {
  for_each_simd_target([] {
    for (const size_t n : kSizes) {
      const std::vector<float> x = values(n, 1), y = values(n, 2);
      std::vector<float> a = x, b = y, doubled(n);
      const float total = HWY_DYNAMIC_DISPATCH(Swap)(a, b);
      for (size_t i = 0; i < n; ++i) doubled[i] = 2 * y[i];
      EXPECT_EQ(a, doubled);
      EXPECT_EQ(b, x);
      EXPECT_EQ(bits(total), bits(ordered_sum(doubled)));
    }
  });
}

TEST(Simd, FindsTheMaximumWhereverItIs) {
  for_each_simd_target([] {
    for (const size_t n : kSizes) {
      for (size_t i = 0; i < n; i += 1 + n / 40) {
        std::vector<float> x(n, -std::numeric_limits<float>::infinity());
        x[i] = -3.0f;
        EXPECT_EQ(HWY_DYNAMIC_DISPATCH(Maximum)(x), -3.0f) << i << " of " << n;
      }
    }
  });
}

TEST(Simd, SumsKeepNaN) {
  for_each_simd_target([] {
    for (const size_t n : kSizes) {
      std::vector<float> x = values(n, 1);
      x[n - 1] = std::numeric_limits<float>::quiet_NaN();
      EXPECT_TRUE(std::isnan(HWY_DYNAMIC_DISPATCH(Sum)(x)));
    }
  });
}

}  // namespace
}  // namespace rapt::kernels
#endif  // HWY_ONCE

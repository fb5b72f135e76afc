#include "rapt/kernels/adam.h"

#include <limits>
#include <vector>

#include "rapt/kernels/adam_ref.h"
#include "rapt/testing/expect.h"

namespace rapt::kernels {
namespace {

using namespace testing;

AdamArgs usual() {
  return {.lr = 0.01,
          .beta1 = 0.9,
          .beta2 = 0.98,
          .eps = 1e-3,
          .weight_decay = 0.3,
          .decoupled = true,
          .grad_scale = 0.37,
          .ema_decay = 0.8};
}

struct Tensors {
  explicit Tensors(size_t n)
      : p(random_tensor({n}, 1)),
        g(random_tensor({n}, 2)),
        m(Tensor::zeros({n})),
        v(Tensor::zeros({n})),
        ema(random_tensor({n}, 3)) {}
  AdamTensors spans() const { return {p.span(), g.span(), m.span(), v.span(), ema.span()}; }
  Tensor p, g, m, v, ema;
};

// `steps` steps, each with a gradient of its own, beside the reference in double.
void expect_steps(AdamArgs args, size_t n, int steps) {
  Tensors t(n);
  std::vector<AdamElement<double>> e(n);
  for (size_t i = 0; i < n; ++i) e[i] = {t.p.host()[i], 0, 0, 0, t.ema.host()[i]};
  for (int s = 1; s <= steps; ++s) {
    const Tensor gradient = random_tensor({n}, static_cast<uint32_t>(100 + s));
    std::ranges::copy(gradient.span(), t.g.data());
    args.step = static_cast<uint64_t>(s);
    adam(args, t.spans(), test_pool());
    for (size_t i = 0; i < n; ++i) {
      e[i].gradient = gradient.host()[i];
      e[i] = adam_ref(args, e[i]);
    }
  }
  const auto expect = [&](const Tensor& actual, double AdamElement<double>::*member) {
    Array<double> expected(Shape{n});
    for (size_t i = 0; i < n; ++i) expected.data[i] = e[i].*member;
    expect_near(actual, expected, 2e-6);
  };
  expect(t.p, &AdamElement<double>::p);
  expect(t.m, &AdamElement<double>::m);
  expect(t.v, &AdamElement<double>::v);
  expect(t.ema, &AdamElement<double>::ema);
  for (const float g : t.g.host()) EXPECT_EQ(g, 0.0f);
}

TEST(Adam, MatchesTheFormula) {
  for_each_simd_target([] {
    for (const bool decoupled : {true, false}) {
      AdamArgs args = usual();
      args.decoupled = decoupled;
      for (const size_t n : {1, 7, 16, 100}) expect_steps(args, n, 10);
    }
  });
}

TEST(Adam, EveryOptionCounts) {
  const auto run = [](const AdamArgs& args) {
    Tensors t(50);
    adam(args, t.spans(), test_pool());
    return std::vector<float>(t.p.host().begin(), t.p.host().end());
  };
  const std::vector<float> base = run(usual());
  const auto changed = [&](auto change) {
    AdamArgs args = usual();
    change(args);
    return run(args);
  };
  EXPECT_NE(changed([](AdamArgs& a) { a.lr = 0.02; }), base);
  EXPECT_NE(changed([](AdamArgs& a) { a.eps = 2e-3; }), base);
  EXPECT_NE(changed([](AdamArgs& a) { a.weight_decay = 0; }), base);
  EXPECT_NE(changed([](AdamArgs& a) { a.decoupled = false; }), base);
  EXPECT_NE(changed([](AdamArgs& a) { a.grad_scale = 0.01; }), base);
  EXPECT_NE(changed([](AdamArgs& a) { a.step = 2; }), base);
  EXPECT_NE(changed([](AdamArgs& a) { a.step = 2, a.beta1 = 0.5; }),
            changed([](AdamArgs& a) { a.step = 2; }));
  EXPECT_NE(changed([](AdamArgs& a) { a.step = 2, a.beta2 = 0.5; }),
            changed([](AdamArgs& a) { a.step = 2; }));
}

TEST(Adam, WithoutAverageTheRestHasTheSameBits) {
  Tensors a(333), b(333);
  adam(usual(), a.spans(), test_pool());
  AdamTensors spans = b.spans();
  spans.ema = {};
  adam(usual(), spans, test_pool());
  expect_same_bits(b.p, a.p);
  expect_same_bits(b.v, a.v);
  expect_same_bits(b.ema, random_tensor({333}, 3));
}

TEST(Adam, SameBitsForThreadsAndTargets) {
  constexpr size_t kSize = (size_t{1} << 14) * 3 + 5;
  const auto run = [](size_t threads) {
    Pool pool(threads);
    Tensors t(kSize);
    adam(usual(), t.spans(), pool);
    return t;
  };
  std::vector<Tensors> first;
  for (const int64_t target : fma_targets()) {
    on_simd_target(target, [&] {
      for (const size_t threads : {1, 2, 3}) {
        const Tensors now = run(threads);
        if (first.empty()) first.push_back(now);
        expect_same_bits(now.p, first[0].p);
        expect_same_bits(now.m, first[0].m);
        expect_same_bits(now.v, first[0].v);
        expect_same_bits(now.ema, first[0].ema);
      }
    });
  }
}

TEST(Adam, KeepsNaN) {
  for_each_simd_target([] {
    Tensors t(20);
    t.g.host()[19] = std::numeric_limits<float>::quiet_NaN();
    adam(usual(), t.spans(), test_pool());
    for (size_t i = 0; i < 20; ++i) EXPECT_EQ(std::isnan(t.p.host()[i]), i == 19);
  });
}

}  // namespace
}  // namespace rapt::kernels

// ops::batch_norm against torch.nn.BatchNorm1d in float64: training, its running moments after
// batches of different sizes, evaluation. tests/goldens/make_batch_norm.py wrote the numbers.
#include <gtest/gtest.h>

#include <algorithm>

#include "rapt/io/safetensors.h"
#include "rapt/ops/batch_norm.h"
#include "rapt/testing/expect.h"

namespace rapt {
namespace {

using testing::to_array;

TEST(BatchNormGolden, IsThatOfPyTorch) {
  const TensorMap golden =
      read_safetensors(fs::path(RAPT_TOP) / "tests" / "goldens" / "batch_norm.safetensors");
  const auto expect = [&](const Tensor& value, const std::string& name) {
    SCOPED_TRACE(name);
    testing::expect_near(value, to_array(golden.at(name)), 2e-6);
  };
  const Tensor gamma = golden.at("gamma"), beta = golden.at("beta");
  const size_t d = gamma.size();
  const Tensor ones = Tensor::zeros({d});
  std::ranges::fill(ones.span(), 1.0f);
  const ops::RunningMoments running{Tensor::zeros({d}), ones, Tensor::zeros({})};

  // {y, dx}, with the gradients of gamma and beta added up.
  const Tensor dgamma = Tensor::zeros({d}), dbeta = Tensor::zeros({d});
  const auto run = [&](Mode mode, const Tensor& x, const Tensor& dy) {
    Context ctx(mode, testing::test_pool());
    ctx.bind(gamma, dgamma);
    ctx.bind(beta, dbeta);
    const Var y =
        ops::batch_norm(ctx, ctx.leaf(x), ctx.leaf(gamma), ctx.leaf(beta), running, 1e-5f);
    ctx.backward(y, dy);
    ctx.commit();
    return std::pair(y.value(), ctx.gradient(x));
  };
  for (const std::string i : {"0", "1", "2"}) {
    const auto [y, dx] = run(Mode::kTraining, golden.at("x" + i), golden.at("dy" + i));
    expect(y, "y" + i);
    expect(dx, "dx" + i);
  }
  expect(dgamma, "dgamma");
  expect(dbeta, "dbeta");
  expect(running.mean, "running_mean");
  expect(running.var, "running_var");
  EXPECT_EQ(running.batches.host()[0], 3);
  const auto [y, dx] = run(Mode::kEvaluation, golden.at("x0"), golden.at("dy0"));
  expect(y, "eval_y");
  expect(dx, "eval_dx");
}

}  // namespace
}  // namespace rapt

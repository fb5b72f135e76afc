#include "rapt/train/stepper.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<size_t> allocations = 0;
}

// Every allocation of the process is counted.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
void* operator new(size_t size) {
  ++allocations;
  if (void* p = std::malloc(size)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }

namespace rapt {
namespace {

Shard shard_of(const std::vector<uint32_t>& lengths, uint64_t first_id) {
  Shard shard;
  shard.source = shard.target = Lengths::of(lengths, first_id);
  for (size_t i = 0; i < shard.source.rows(); ++i) {
    shard.source_ids.push_back(static_cast<int32_t>(i % 9));
    shard.target_in.push_back(static_cast<int32_t>(i * 5 % 9));
    shard.target_out.push_back(static_cast<int32_t>(i * 7 % 9));
  }
  return shard;
}

ModelConfig config() {
  ModelConfig c;
  c.d_model = 32;
  c.d_ff = 64;
  return c;
}

class StepperTest : public testing::Test {
 protected:
  StepperTest() {
    update_.shards = {shard_of({5, 3, 70}, 0), shard_of({2, 9}, 10)};
    update_.target_tokens = 89;
  }
  Transformer model_{config(), 9, 9};
  Update update_;
  TrainOptions options_;
};

TEST_F(StepperTest, ASteadyStepAsksTheSystemForNoMemory) {
  for (const size_t threads : {1, 2}) {
    MemoryPool memory;
    Pool pool(threads);
    options_.ema_decay = 0.9;
    Stepper stepper(model_, options_, pool, memory);
    for (uint64_t step = 1; step <= 3; ++step) stepper.run(update_, step, step, 1e-3);
    EXPECT_GT(allocations, 0u);
    const size_t blocks = memory.stats().system_allocations, before = allocations;
    for (uint64_t step = 4; step <= 8; ++step) stepper.run(update_, step, step, 1e-3);
    EXPECT_EQ(memory.stats().system_allocations, blocks);
    EXPECT_EQ(allocations - before, 0u);
  }
}

TEST_F(StepperTest, LossesAreSumsOverTheUpdate) {
  Pool pool(1);
  ModelConfig plain = config();
  plain.dropout_embedding = plain.dropout_attention = plain.dropout_activation =
      plain.dropout_residual = 0;
  model_ = Transformer(plain, 9, 9);
  double nll = 0, objective = 0;
  for (const Shard& shard : update_.shards) {
    Context ctx(Mode::kInference, pool);
    const auto loss = model_.loss(ctx, shard, {.smoothing = 0.1f});
    nll += static_cast<double>(loss.nll.host()[0]);
    objective += static_cast<double>(loss.objective.value().host()[0]);
  }
  Stepper stepper(model_, options_, pool);
  const StepResult result = stepper.run(update_, 1, 1, 1e-3);
  EXPECT_NEAR(result.nll, nll, 1e-4);
  EXPECT_NEAR(result.objective, objective, 1e-4);
  EXPECT_GT(result.grad_norm, 0);
  EXPECT_FALSE(result.fault.has_value());
}

// The gradient is that of the loss a target token: twice the data, the same norm.
TEST_F(StepperTest, GradientsAreOfTheLossPerTargetToken) {
  Pool pool(1);
  ModelConfig plain = config();
  plain.dropout_embedding = plain.dropout_attention = plain.dropout_activation =
      plain.dropout_residual = 0;
  Update twice = update_;
  twice.shards.insert(twice.shards.end(), update_.shards.begin(), update_.shards.end());
  twice.target_tokens *= 2;
  Transformer one(plain, 9, 9), two(plain, 9, 9);
  const double norm = Stepper(one, options_, pool).run(update_, 1, 1, 1e-3).grad_norm;
  EXPECT_NEAR(Stepper(two, options_, pool).run(twice, 1, 1, 1e-3).grad_norm, norm, 1e-5 * norm);
}

TEST_F(StepperTest, TheSameStepHasTheSameDropoutAndAnotherStepAnother) {
  Pool pool(1);
  const auto loss_of_step = [&](uint64_t step) {
    Transformer model(config(), 9, 9);
    return Stepper(model, options_, pool).run(update_, step, 1, 1e-3).nll;
  };
  EXPECT_EQ(loss_of_step(3), loss_of_step(3));
  EXPECT_NE(loss_of_step(3), loss_of_step(4));
}

}  // namespace
}  // namespace rapt

// What must not change a bit of training, and what a steady step must not do: ask for memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <numeric>

#include "rapt/models/tiny_model_test.h"

namespace {
std::atomic<size_t> heap_allocations{0};
}  // namespace

void* operator new(size_t bytes) {
  ++heap_allocations;
  if (void* p = std::malloc(bytes == 0 ? 1 : bytes)) return p;
  throw std::bad_alloc();
}
void* operator new(size_t bytes, std::align_val_t alignment) {
  ++heap_allocations;
  const auto a = static_cast<size_t>(alignment);
  if (void* p = std::aligned_alloc(a, (bytes + a - 1) / a * a)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, size_t, std::align_val_t) noexcept { std::free(p); }

namespace rapt {
namespace {

using testing::expect_same_bits;
using testing::tiny_config;
using testing::tiny_decoder_config;
using testing::tiny_model;
using testing::tiny_shard;

// With dropout everywhere: its bits are those of the tokens too.
std::vector<ModelConfig> configs() {
  using testing::all_masks;
  std::vector<ModelConfig> all = {
      tiny_config(), tiny_decoder_config(), all_masks(tiny_config(), Positions::kAlibi),
      all_masks(tiny_decoder_config(), Positions::kRotary), tiny_config()};
  all[0].tie = Tie::kAll;
  all.back().experts = 4;
  all.back().gated = true;
  for (ModelConfig& c : all) {
    c.d_model = 40;
    c.heads = 4;
    c.d_ff = 72;
    c.dropout_embedding = c.dropout_residual = 0.1f;
    c.dropout_attention = c.dropout_activation = 0.2f;
  }
  return all;
}

ModelConfig with_batch_norm() {
  ModelConfig c = configs()[0];
  c.norm = NormKind::kBatch;
  return c;
}

// Long enough for many blocks of rows and for gradients that threads share.
Shard long_shard(const ModelConfig& config) {
  std::vector<Sequence> sources, targets;
  for (uint32_t i = 0; i < 24; ++i) {
    sources.push_back({10 + i, 1 + i * 7 % 30, 0});
    targets.push_back({10 + i, 1 + i * 11 % 31, 0});
  }
  return tiny_shard(config, sources, targets);
}

struct Result {
  Tensor objective, nll;
  std::vector<Tensor> gradients;
};
Result run(const Transformer& model, const Shard& shard, Pool& pool) {
  Context ctx(Mode::kTraining, pool, 5, 9);
  const auto loss = model.loss(ctx, shard, {.smoothing = 0.1f}, /*balance=*/0.1f);
  ctx.backward(loss.objective, 1.0f / 256);
  Result result{loss.objective.value(), loss.nll, {}};
  for (size_t i = 0; i < model.parameters().size(); ++i) {
    result.gradients.push_back(testing::gradient_of(ctx, model.parameters()[i]));
  }
  return result;
}

TEST(TransformerBits, LossAndGradientsDoNotDependOnThreadsNorOnTheCpu) {
  std::vector<ModelConfig> all = configs();
  all.push_back(with_batch_norm());
  for (const ModelConfig& config : all) {
    const Transformer model = tiny_model(config);
    const Shard shard = long_shard(config);
    Pool one(1), two(2), three(3);
    const Result expected = run(model, shard, one);
    for (const int64_t target : testing::fma_targets()) {
      testing::on_simd_target(target, [&] {
        for (Pool* pool : {&one, &two, &three}) {
          SCOPED_TRACE(concat(pool->threads(), " threads"));
          const Result result = run(model, shard, *pool);
          expect_same_bits(result.objective, expected.objective);
          expect_same_bits(result.nll, expected.nll);
          for (size_t i = 0; i < result.gradients.size(); ++i) {
            SCOPED_TRACE(model.parameters()[i].name);
            expect_same_bits(result.gradients[i], expected.gradients[i]);
          }
        }
      });
    }
  }
}

TEST(TransformerBits, ASentenceDoesNotDependOnItsBatch) {
  for (const ModelConfig& config : configs()) {
    const Transformer model = tiny_model(config);
    const Shard batch = long_shard(config);
    const auto forward = [&](const Shard& shard) {
      Context ctx(Mode::kTraining, testing::test_pool(), 5, 9);
      return model.decoder_output(ctx, shard).value();
    };
    const auto log_p = [&](const Shard& shard) {
      Context ctx(Mode::kInference, testing::test_pool());
      return model.token_log_probabilities(ctx, shard);
    };
    const Tensor all = forward(batch), all_log_p = log_p(batch);
    for (size_t s = 0; s < batch.target.sequences(); s += 5) {
      SCOPED_TRACE(s);
      std::vector<Sequence> source;
      if (config.has_encoder()) source.push_back(batch.source[s]);
      const Shard alone = tiny_shard(config, source, {batch.target[s]});
      const size_t begin = batch.target.offset(s), end = batch.target.offset(s + 1);
      expect_same_bits(forward(alone), all.slice_rows(begin, end));
      expect_same_bits(
          log_p(alone),
          all_log_p.reshape({all_log_p.size(), 1}).slice_rows(begin, end).reshape({end - begin}));
    }
  }
}

// The documented exception: statistics of a training batch are those of all its tokens.
TEST(TransformerBits, WithBatchNormASentenceDependsOnItsBatchInTrainingAlone) {
  const ModelConfig config = with_batch_norm();
  const Transformer model = tiny_model(config);
  const Shard batch = long_shard(config);
  const Shard alone = tiny_shard(config, {batch.source[3]}, {batch.target[3]});
  for (const Mode mode : {Mode::kTraining, Mode::kEvaluation, Mode::kInference}) {
    const auto run = [&](const Shard& shard) {
      Context ctx(mode, testing::test_pool(), 5, 9);
      return model.decoder_output(ctx, shard).value();
    };
    const Tensor with_neighbours =
        run(batch).slice_rows(batch.target.offset(3), batch.target.offset(4));
    EXPECT_EQ(std::ranges::equal(run(alone).span(), with_neighbours.span()),
              mode != Mode::kTraining);
  }
}

TEST(TransformerBits, DropoutFollowsSeedAndUpdate) {
  const ModelConfig config = configs()[0];
  const Transformer model = tiny_model(config);
  const Shard shard = tiny_shard(config);
  const auto loss = [&](uint64_t seed, uint64_t update, Mode mode = Mode::kTraining) {
    Context ctx(mode, testing::test_pool(), seed, update);
    return model.loss(ctx, shard, {}).objective.value().host()[0];
  };
  EXPECT_EQ(loss(1, 1), loss(1, 1));
  EXPECT_NE(loss(1, 1), loss(2, 1));
  EXPECT_NE(loss(1, 1), loss(1, 2));
  EXPECT_EQ(loss(1, 1, Mode::kEvaluation), loss(2, 2, Mode::kEvaluation));
  EXPECT_EQ(loss(1, 1, Mode::kEvaluation), loss(1, 1, Mode::kInference));
}

TEST(TransformerBits, SteadyTrainingStepsAllocateNothing) {
  for (const ModelConfig& config : configs()) {
    if (config.experts > 0) continue;  // lists of rows that change from step to step
    const Transformer model = tiny_model(config);
    const Shard shard = long_shard(config);
    Pool pool(2);
    MemoryPool memory;
    {
      Context ctx(Mode::kTraining, pool, 5, 0, memory);
      std::vector<Tensor> gradients;
      for (size_t i = 0; i < model.parameters().size(); ++i) {
        const Tensor& value = model.parameters()[i].value;
        gradients.push_back(Tensor::zeros(value.shape(), memory));
        ctx.bind(value, gradients.back());
      }
      const auto step = [&](uint64_t update) {
        ctx.clear(update);
        const auto loss = model.loss(ctx, shard, {.smoothing = 0.1f});
        ctx.backward(loss.objective, 1.0f / 256);
      };
      for (uint64_t update = 0; update < 3; ++update) step(update);
      const size_t blocks = memory.stats().system_allocations, heap = heap_allocations;
      for (uint64_t update = 3; update < 6; ++update) step(update);
      EXPECT_EQ(memory.stats().system_allocations, blocks);
      EXPECT_EQ(heap_allocations, heap);
    }
  }
}

}  // namespace
}  // namespace rapt

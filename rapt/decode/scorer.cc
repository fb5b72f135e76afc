#include "rapt/decode/scorer.h"

#include "rapt/base/scalar_math.h"

namespace rapt {
namespace {

void check_lengths(const Example& e, size_t positions) {
  check(e.source.size() < positions && e.target.size() < positions, "item ", e.id + 1, " has ",
        e.source.size() + 1, " source and ", e.target.size() + 1, " target tokens with </s>, ",
        "the model takes ", positions);
}

}  // namespace

double Score::perplexity() const {
  return scalar::exp(-log_probability / static_cast<double>(tokens));
}

std::vector<Score> score(const Model& model, std::span<const Example> examples, Pool& pool,
                         size_t batch_tokens) {
  std::vector<std::pair<size_t, size_t>> batches;
  for (size_t begin = 0, end; begin < examples.size(); begin = end) {
    end = begin;
    for (size_t rows = 0; end < examples.size(); ++end) {
      check_lengths(examples[end], model.transformer.config().max_positions);
      rows += examples[end].source.size() + examples[end].target.size() + 2;
      if (rows > batch_tokens && end > begin) break;
    }
    batches.emplace_back(begin, end);
  }
  std::vector<Score> scores(examples.size());
  const auto run = [&](size_t b) {
    const auto [begin, end] = batches[b];
    const Shard shard = make_shard(examples.subspan(begin, end - begin), model.text);
    Context ctx(Mode::kInference, pool);
    const Tensor log_p = model.transformer.token_log_probabilities(ctx, shard);
    for (size_t i = begin; i < end; ++i) {
      const size_t s = i - begin;
      for (size_t r = shard.target.offset(s); r < shard.target.offset(s + 1); ++r) {
        scores[i].log_probability += log_p.host()[r];
      }
      scores[i].tokens = shard.target[s].size;
    }
  };
  if (batches.size() == 1) {
    run(0);
  } else {
    pool.run(batches.size(), run);
  }
  return scores;
}

}  // namespace rapt

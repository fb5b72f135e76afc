#include "rapt/decode/invariance.h"

#include <bit>

#include "rapt/ops/log_softmax.h"

namespace rapt {
namespace {

using Rows = std::vector<std::vector<float>>;  // of each example, one number a target token

Rows split(const Tensor& values, const Lengths& lengths) {
  Rows rows(lengths.sequences());
  for (size_t s = 0; s < rows.size(); ++s) {
    rows[s].assign(values.host().begin() + static_cast<ptrdiff_t>(lengths.offset(s)),
                   values.host().begin() + static_cast<ptrdiff_t>(lengths.offset(s + 1)));
  }
  return rows;
}

Rows together(const Model& model, std::span<const Example> examples, Pool& pool) {
  Context ctx(Mode::kInference, pool);
  const Shard shard = make_shard(examples, model.text);
  return split(model.transformer.token_log_probabilities(ctx, shard), shard.target);
}

Rows alone(const Model& model, std::span<const Example> examples, Pool& pool) {
  Rows rows;
  for (const Example& e : examples) rows.push_back(together(model, {&e, 1}, pool).front());
  return rows;
}

// One token at a time through the cache; examples leave as they end.
Rows cached(const Model& model, std::span<const Example> examples, Pool& pool) {
  const Shard shard = make_shard(examples, model.text);
  Context ctx(Mode::kInference, pool);
  State state = model.transformer.make_state(examples.size(), shard.target.longest());
  if (model.text.has_source()) {
    model.transformer.open(ctx, state, shard.source, shard.source_ids);
  } else {
    std::vector<Sequence> empty;
    for (const Example& e : examples) empty.push_back({e.id, 0, 0});
    model.transformer.open(ctx, state, Lengths(std::move(empty)), {});
  }
  Rows rows(examples.size());
  std::vector<size_t> live(examples.size());
  for (size_t i = 0; i < live.size(); ++i) live[i] = i;
  for (uint32_t position = 0; !live.empty(); ++position) {
    std::vector<Sequence> step;
    std::vector<int32_t> ids;
    for (const size_t s : live) {
      step.push_back({shard.target[s].id, 1, position});
      ids.push_back(shard.target_in[shard.target.offset(s) + position]);
    }
    const Tensor log_p =
        ops::log_softmax(ctx, model.transformer.step(ctx, state, Lengths(std::move(step)), ids))
            .value();
    std::vector<uint32_t> parents;
    std::vector<size_t> next;
    for (size_t i = 0; i < live.size(); ++i) {
      const size_t s = live[i];
      const int32_t wanted = shard.target_out[shard.target.offset(s) + position];
      rows[s].push_back(log_p.matrix().row(i)[static_cast<size_t>(wanted)]);
      if (position + 1 == shard.target[s].size) continue;
      parents.push_back(static_cast<uint32_t>(i));
      next.push_back(s);
    }
    state.reorder(parents);
    live = std::move(next);
  }
  return rows;
}

InvarianceResult compare(std::string name, const Rows& expected, const Rows& met) {
  InvarianceResult result{std::move(name), 0, 0, ""};
  for (size_t s = 0; s < expected.size(); ++s) {
    for (size_t r = 0; r < expected[s].size(); ++r) {
      ++result.compared;
      if (r < met[s].size() &&
          std::bit_cast<uint32_t>(expected[s][r]) == std::bit_cast<uint32_t>(met[s][r]))
        continue;
      if (result.different++ == 0) {
        result.first = concat("item ", s + 1, ", token ", r + 1);
      }
    }
  }
  return result;
}

}  // namespace

std::vector<InvarianceResult> check_invariance(const Model& model,
                                               std::span<const Example> examples, size_t threads) {
  Pool one(1), several(std::max<size_t>(2, threads));
  const Rows expected = together(model, examples, one);
  return {
      compare("alone and in a batch", expected, alone(model, examples, one)),
      compare("with and without the cache", expected, cached(model, examples, one)),
      compare(concat("one thread and ", several.threads()), expected,
              together(model, examples, several)),
      compare("cache, batch and threads together", expected, cached(model, examples, several)),
  };
}

}  // namespace rapt

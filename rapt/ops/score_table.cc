#include "rapt/ops/score_table.h"

#include <algorithm>

namespace rapt::ops {
namespace {

// The bias of one head and sentence.
MatrixView<float> bias_block(const Tensor& bias, size_t s, size_t h, const Sequence& queries,
                             const Sequence& keys) {
  const Shape& shape = bias.shape();
  const size_t rank = shape.rank(), rows = shape[rank - 2];
  const size_t heads = rank >= 3 ? shape[rank - 3] : 1, head = heads == 1 ? 0 : h;
  const size_t matrix = (rank == 4 ? s * heads : 0) + head;
  const size_t row = matrix * rows + queries.past;
  return bias.matrix()
      .slice_rows(row, row + queries.size)
      .slice_cols(keys.past, keys.past + keys.size);
}

void check_bias(const Shape& shape, size_t heads, const Lengths& queries, const Lengths& keys) {
  const size_t rank = shape.rank();
  check(rank >= 2 && (rank < 3 || shape[rank - 3] == 1 || shape[rank - 3] == heads) &&
            (rank < 4 || shape[0] == queries.sequences()),
        "attention: bias is ", shape, ", expected [rows, columns], [heads, rows, columns] or ",
        "[sequences, heads, rows, columns] of ", heads, " heads and ", queries.sequences(),
        " sequences");
  for (size_t s = 0; s < queries.sequences(); ++s) {
    const size_t rows = queries[s].past + queries[s].size, columns = keys[s].past + keys[s].size;
    check(shape[rank - 2] >= rows && shape[rank - 1] >= columns, "attention: bias is ", shape,
          ", the positions need ", Shape{rows, columns});
  }
}

}  // namespace

Var head_rows(Context& ctx, const Heads& x, size_t sequence, size_t head) {
  x.check_fits("head_rows", "x");
  const Tensor y = ctx.empty({x.rows[sequence].size, x.dim});
  kernels::copy_block(x.of(x.x.x.value(), sequence, head), y.matrix());
  return ctx.record("head_rows", y, [=](const Tensor& dy, Grads& grads) {
    if (grads.wants(x.x.x)) {
      kernels::add_block(dy.matrix(), x.of(grads.of(x.x.x), sequence, head));
    }
  });
}

Var score_table(Context& ctx, const std::vector<Var>& parts, size_t heads, const Lengths& queries,
                const Lengths& keys) {
  check(parts.size() == queries.sequences() * heads, "score_table: ", parts.size(), " parts for ",
        queries.sequences(), " sequences of ", heads, " heads");
  const Tensor table = make_table(ctx, heads, queries, keys);
  std::vector<Var> places;
  for (size_t i = 0; i < parts.size(); ++i) {
    const size_t s = i / heads, h = i % heads;
    const Shape expected{queries[s].size, keys[s].size};
    check(parts[i].shape() == expected, "score_table: the score of head ", h, " of sentence ", s,
          " is ", parts[i].shape(), ", expected ", expected, ", a row for each query");
    kernels::copy_block(parts[i].matrix(), table_block(table, queries, keys, s, h));
    if (ctx.records()) places.push_back(parts[i].place());
  }
  return ctx.record("score_table", table, [=](const Tensor& dy, Grads& grads) {
    for (size_t i = 0; i < places.size(); ++i) {
      const Tensor dx = grads.empty(places[i]);
      kernels::copy_block(table_block(dy, queries, keys, i / heads, i % heads), dx.matrix());
      grads.add(places[i], dx);
    }
  });
}

Var add_bias(Context& ctx, const Var& table, const Var& bias, size_t heads, const Lengths& queries,
             const Lengths& keys) {
  check_bias(bias.shape(), heads, queries, keys);
  const Tensor y = table.value().clone(ctx.memory());
  const auto for_blocks = [heads, queries, keys](const auto& f) {
    for (size_t s = 0; s < queries.sequences(); ++s) {
      for (size_t h = 0; h < heads; ++h) f(s, h);
    }
  };
  for_blocks([&](size_t s, size_t h) {
    kernels::add_block(bias_block(bias.value(), s, h, queries[s], keys[s]),
                       table_block(y, queries, keys, s, h));
  });
  return ctx.record(
      "add_bias", y,
      [=, table = table.place(), bias = bias.place()](const Tensor& dy, Grads& grads) {
        grads.add(table, dy);
        if (!grads.wants(bias)) return;
        const Tensor total = grads.of(bias);
        for_blocks([&](size_t s, size_t h) {
          kernels::add_block(table_block(dy, queries, keys, s, h),
                             bias_block(total, s, h, queries[s], keys[s]));
        });
      });
}

}  // namespace rapt::ops

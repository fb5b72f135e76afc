#include "rapt/ops/embedding.h"

#include <algorithm>

#include "rapt/kernels/embedding.h"
#include "rapt/kernels/gather_rows.h"
#include "rapt/ops/dropout_bits.h"

namespace rapt::ops {
namespace {

using Indices = Buffer<int32_t>;

Indices checked_ids(Context& ctx, std::span<const int32_t> ids, size_t vocabulary,
                    const Lengths& lengths) {
  check(ids.size() == lengths.rows(), "embedding: ", ids.size(), " ids for ", lengths.rows(),
        " rows");
  const Indices kept = ctx.buffer<int32_t>(ids.size());
  for (size_t r = 0; r < ids.size(); ++r) {
    check(ids[r] >= 0 && static_cast<size_t>(ids[r]) < vocabulary, "embedding: id ", ids[r],
          " in row ", r, " is not in the vocabulary of ", vocabulary);
    kept[r] = ids[r];
  }
  return kept;
}

// The position of each row; empty without a table.
Indices checked_positions(Context& ctx, const Var* positions, size_t d, const Lengths& lengths) {
  if (positions == nullptr) return {};
  check(positions->cols() == d, "embedding: positions are ", positions->shape(), ", expected [n, ",
        d, "]");
  const Indices kept = ctx.buffer<int32_t>(lengths.rows());
  lengths.for_each_key(0, lengths.rows(), [&](size_t r, RowKey key) {
    check(key.position < positions->rows(), "embedding: position ", key.position, " of row ", r,
          " is beyond the table of ", positions->rows(), " positions");
    kept[r] = static_cast<int32_t>(key.position);
  });
  return kept;
}

// y from rows of `from`: the table, or, for ids 0, 1, 2, …, what was read of a packed one.
Tensor forward(Context& ctx, MatrixView<const float> from, std::span<const int32_t> ids,
               float scale, const Var* positions, const Indices& position, const DropoutBits& bits,
               const Tensor& y) {
  kernels::embedding({.table = from,
                      .ids = ids,
                      .scale = scale,
                      .positions = positions ? positions->matrix() : MatrixView<float>(),
                      .position = position.span()},
                     bits.of_rows(), y.matrix(), ctx.pool());
  return y;
}

Var packed_embedding(Context& ctx, const Weight& table, std::span<const int32_t> ids, float scale,
                     const Var* positions, const DropoutBits& bits) {
  const Indices kept = checked_ids(ctx, ids, table.out(), bits.lengths);
  const Indices position = checked_positions(ctx, positions, table.in(), bits.lengths);
  const Tensor y = ctx.empty({ids.size(), table.in()});
  for (size_t r = 0; r < ids.size(); ++r) {
    table.row(static_cast<size_t>(kept[r]), y.matrix().row(r));
    kept[r] = static_cast<int32_t>(r);
  }
  return forward(ctx, y.matrix(), kept.span(), scale, positions, position, bits, y);
}

}  // namespace

Var embedding(Context& ctx, const Weight& table, std::span<const int32_t> ids, float scale,
              const Var* positions, const Dropout& dropout, const Lengths& lengths) {
  if (!ctx.records() && table.packed()) {
    const DropoutBits bits(ctx, "embedding", dropout, lengths, ids.size());
    return packed_embedding(ctx, table, ids, scale, positions, bits);
  }
  return embedding(ctx, ctx.leaf(table.unpacked()), ids, scale, positions, dropout, lengths);
}

Var embedding(Context& ctx, const Var& table, std::span<const int32_t> ids, float scale,
              const Var* positions, const Dropout& dropout, const Lengths& lengths) {
  const Indices kept = checked_ids(ctx, ids, table.rows(), lengths);
  const Indices position = checked_positions(ctx, positions, table.cols(), lengths);
  const DropoutBits bits(ctx, "embedding", dropout, lengths, ids.size());
  const Tensor y = forward(ctx, table.matrix(), kept.span(), scale, positions, position, bits,
                           ctx.empty({ids.size(), table.cols()}));
  const Var place = positions ? positions->place() : Var();
  return ctx.record("embedding", y, [=, table = table.place()](const Tensor& dy, Grads& grads) {
    const auto add = [&](const Var& to, const Indices& index, float factor) {
      if (!grads.wants(to)) return;
      kernels::scatter_add_rows(dy.matrix(), index.span(), factor, bits.of_rows(),
                                grads.of(to).matrix(), grads.pool());
    };
    add(table, kept, scale);
    add(place, position, 1.0f);
  });
}

}  // namespace rapt::ops

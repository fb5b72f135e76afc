#include "rapt/kernels/attention.h"

#include <cassert>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rapt/kernels/attention_forward.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "rapt/kernels/attention_forward-inl.h"
#include "rapt/kernels/attention_heads-inl.h"
#include "rapt/kernels/attention_plan-inl.h"
#include "rapt/kernels/attention_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rapt::kernels::HWY_NAMESPACE {

size_t TileScratch(const Attention& a) { return attn::ForwardTile::scratch_floats(a); }
void Tile(const Attention& a, const AttentionSequence& s, size_t head, size_t query, size_t rows,
          const rapt::kernels::attn::Prefetch& ahead, float* memory) {
  attn::ForwardTile(a, s, head, query, rows, ahead, memory).run();
}
size_t RowsScratch(const Attention& a) { return attn::RowsTask::scratch_floats(a); }
void RowsOf(const Attention& a, const AttentionSequence& s, size_t kv_head, size_t query,
            float* weights, size_t stride, float* memory) {
  attn::RowsTask(a, s, kv_head, query, weights, stride, memory).run();
}
size_t HeadsScratch(const Attention& a) { return attn::HeadsTask::scratch_floats(a); }
void HeadsOf(const Attention& a, const AttentionSequence& s, size_t query,
             rapt::kernels::attn::PrefetchSlots& ahead, float* memory) {
  attn::HeadsTask(a, s, query, ahead, memory).run();
}
void InterleaveHeads(MatrixView<const float> x, size_t heads, std::span<const int32_t> rows,
                     MatrixView<float> y) {
  const size_t dim = x.cols() / heads;
  for (size_t r = 0; r < x.rows(); ++r) {
    const size_t to = rows.empty() ? r : static_cast<size_t>(rows[r]);
    attn::interleave_heads(x.row(r).data(), dim, heads, dim, 1.0f, y.row(to).data());
  }
}

}  // namespace rapt::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rapt::kernels {
HWY_EXPORT(TileScratch);
HWY_EXPORT(Tile);
HWY_EXPORT(RowsScratch);
HWY_EXPORT(RowsOf);
HWY_EXPORT(HeadsScratch);
HWY_EXPORT(HeadsOf);
HWY_EXPORT(InterleaveHeads);

namespace {
constexpr size_t ceil_div(size_t n, size_t d) { return (n + d - 1) / d; }

// Which kernel takes a sequence: an affair of speed, for all give the same bits.
bool by_rows(const Attention& a, const AttentionSequence& s) {
  return s.queries <= attn::kRowQueries && !a.dropout.on();
}
bool by_heads(const Attention& a, const AttentionSequence& s) {
  return a.k_step != 1 && s.queries <= attn::kHeadsQueries &&
         attention_interleaves(a.kv_heads, a.dim_v) && !a.dropout.on() && s.bias == nullptr &&
         a.softcap == 0 && a.slopes == nullptr;
}

// Which queries the tasks of tiles have.
class Tiling {
 public:
  // Large tiles copy keys less often, small ones keep many threads busy.
  Tiling(const Attention& a, std::span<const AttentionSequence> sequences, size_t threads) {
    size_t tasks = 0;
    for (const AttentionSequence& s : sequences) tasks += a.heads * count(s);
    if (tasks < 4 * threads) tile_ /= 2;
  }
  size_t count(const AttentionSequence& s) const { return ceil_div(s.queries, tile_); }

  struct Place {
    size_t head, query, rows;
  };
  // The last tile of a head first: under a causal mask it has the most keys.
  Place find(const AttentionSequence& s, size_t task) const {
    const size_t query = (count(s) - 1 - task % count(s)) * tile_;
    return {task / count(s), query, std::min(tile_, s.queries - query)};
  }

 private:
  size_t tile_ = attn::kQueryTile;
};
}  // namespace

// Heads fill whole vectors, values too.
bool attention_interleaves(size_t kv_heads, size_t dim_v) {
  return (kv_heads == 4 || kv_heads == 8 || kv_heads % 16 == 0) && dim_v % 16 == 0;
}

void interleave_heads(MatrixView<const float> x, size_t heads, std::span<const int32_t> rows,
                      MatrixView<float> y) {
  assert(heads % 4 == 0 && x.cols() % heads == 0);
  HWY_DYNAMIC_DISPATCH(InterleaveHeads)(x, heads, rows, y);
}

void attention_forward(const Attention& a, std::span<const AttentionSequence> sequences,
                       std::span<uint32_t> memory, Pool& pool) {
  const Tiling tiling(a, sequences, pool.threads());
  const attn::Plan plan(memory, sequences.size(), [&](size_t s) {
    if (sequences[s].queries == 0) return size_t{0};
    if (by_heads(a, sequences[s])) return ceil_div(sequences[s].queries, attn::kRowQueries);
    if (by_rows(a, sequences[s])) return a.kv_heads;
    return a.heads * tiling.count(sequences[s]);
  });
  const auto tile = HWY_DYNAMIC_DISPATCH(Tile);
  const auto rows = HWY_DYNAMIC_DISPATCH(RowsOf);
  const auto heads = HWY_DYNAMIC_DISPATCH(HeadsOf);
  const size_t floats =
      std::max({HWY_DYNAMIC_DISPATCH(TileScratch)(a), HWY_DYNAMIC_DISPATCH(RowsScratch)(a),
                HWY_DYNAMIC_DISPATCH(HeadsScratch)(a)});
  pool.run(plan.tasks(), floats, [&](size_t task, float* scratch) {
    const auto [s, n] = plan.find(task);
    const AttentionSequence& sequence = sequences[s];
    const size_t next = task + pool.threads();
    if (by_heads(a, sequence)) {
      attn::PrefetchSlots ahead;
      if (next < plan.tasks()) ahead = {a, sequences[plan.find(next).sequence]};
      return heads(a, sequence, n * attn::kRowQueries, ahead, scratch);
    }
    if (by_rows(a, sequence)) return rows(a, sequence, n, 0, nullptr, 0, scratch);
    attn::Prefetch ahead;
    if (next < plan.tasks()) {
      const auto [t, m] = plan.find(next);
      const AttentionSequence& then = sequences[t];
      if (!by_heads(a, then) && !by_rows(a, then)) {
        const auto [head, query, count] = tiling.find(then, m);
        ahead.forward(a, then, head, query, count);
      }
    }
    const auto [head, query, count] = tiling.find(sequence, n);
    tile(a, sequence, head, query, count, ahead, scratch);
  });
}

void attention_weights(const Attention& a, std::span<const AttentionSequence> sequences,
                       std::span<float* const> weights, size_t head_stride,
                       std::span<uint32_t> memory, Pool& pool) {
  const auto blocks = [&](size_t s) { return ceil_div(sequences[s].queries, attn::kRowQueries); };
  const attn::Plan plan(memory, sequences.size(), [&](size_t s) { return a.kv_heads * blocks(s); });
  const auto rows = HWY_DYNAMIC_DISPATCH(RowsOf);
  pool.run(plan.tasks(), HWY_DYNAMIC_DISPATCH(RowsScratch)(a), [&](size_t task, float* scratch) {
    const auto [s, n] = plan.find(task);
    rows(a, sequences[s], n / blocks(s), n % blocks(s) * attn::kRowQueries, weights[s], head_stride,
         scratch);
  });
}

}  // namespace rapt::kernels
#endif

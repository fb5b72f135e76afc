#include "rapt/kernels/attention.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rapt/kernels/attention_forward.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "rapt/kernels/attention_forward-inl.h"
#include "rapt/kernels/attention_plan-inl.h"
#include "rapt/kernels/attention_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rapt::kernels::HWY_NAMESPACE {

size_t TileScratch(const Attention& a) { return attn::ForwardTile::scratch_floats(a); }
void Tile(const Attention& a, const AttentionSequence& s, size_t head, size_t query,
          rapt::kernels::attn::Prefetch& ahead, float* memory) {
  attn::ForwardTile(a, s, head, query, ahead, memory).run();
}
size_t RowsScratch(const Attention& a) { return attn::RowsTask::scratch_floats(a); }
void RowsOf(const Attention& a, const AttentionSequence& s, size_t kv_head, size_t query,
            float* weights, size_t stride, float* memory) {
  attn::RowsTask(a, s, kv_head, query, weights, stride, memory).run();
}

}  // namespace rapt::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rapt::kernels {
HWY_EXPORT(TileScratch);
HWY_EXPORT(Tile);
HWY_EXPORT(RowsScratch);
HWY_EXPORT(RowsOf);

namespace {
constexpr size_t ceil_div(size_t n, size_t d) { return (n + d - 1) / d; }

// Which kernel takes a sequence: an affair of speed, for both give the same bits.
bool by_rows(const Attention& a, const AttentionSequence& s) {
  return s.queries <= attn::kRowQueries && !a.dropout.on();
}
}  // namespace

void attention_forward(const Attention& a, std::span<const AttentionSequence> sequences,
                       std::span<uint32_t> memory, Pool& pool) {
  const attn::Plan plan(memory, sequences.size(), [&](size_t s) {
    if (sequences[s].queries == 0) return size_t{0};
    if (by_rows(a, sequences[s])) return a.kv_heads;
    return a.heads * ceil_div(sequences[s].queries, attn::kQueryTile);
  });
  const auto tile = HWY_DYNAMIC_DISPATCH(Tile);
  const auto rows = HWY_DYNAMIC_DISPATCH(RowsOf);
  const size_t floats =
      std::max(HWY_DYNAMIC_DISPATCH(TileScratch)(a), HWY_DYNAMIC_DISPATCH(RowsScratch)(a));
  pool.run(plan.tasks(), floats, [&](size_t task, float* scratch) {
    const auto [s, n] = plan.find(task);
    const AttentionSequence& sequence = sequences[s];
    if (by_rows(a, sequence)) return rows(a, sequence, n, 0, nullptr, 0, scratch);
    // The last tile first: under a causal mask it has the most keys.
    const size_t tiles = ceil_div(sequence.queries, attn::kQueryTile);
    attn::Prefetch ahead;
    if (const size_t next = task + pool.threads(); next < plan.tasks()) {
      const auto [then, head] = plan.find(next);
      const bool pays = attn::Prefetch::pays(sequences[then]) && !by_rows(a, sequences[then]);
      if (pays) ahead.forward(a, sequences[then], head);
    }
    tile(a, sequence, n / tiles, (tiles - 1 - n % tiles) * attn::kQueryTile, ahead, scratch);
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

#include "rapt/kernels/gemm.h"

#include <cassert>
#include <cstdint>

#include "rapt/kernels/gemm_plan.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rapt/kernels/gemm.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "rapt/kernels/gemm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rapt::kernels::HWY_NAMESPACE {

void Multiply(const Gemm& g, const float* packed, const Rectangle& part, const GemmBlocks& blocks,
              float* scratch) {
  const product::Operation operation{.op = g.op,
                                     .m = g.m(),
                                     .n = g.n(),
                                     .k = g.k(),
                                     .a = g.a.data(),
                                     .lda = g.a.stride(),
                                     .b = g.b.data(),
                                     .ldb = g.b.stride(),
                                     .packed = packed,
                                     .c = g.c.data(),
                                     .ldc = g.c.stride(),
                                     .alpha = g.alpha,
                                     .accumulate = g.accumulate};
  const auto run = [&](const auto& epilogue) {
    product::multiply(operation, part.rows, part.cols, blocks, GemmScratch(scratch, blocks),
                      epilogue);
  };
  const bool plain = g.bias.empty() && g.pre_activation.data() == nullptr;
  if (plain && g.activation == Activation::kNone) return run(product::Identity());
  with_activation(g.activation, [&]<Activation kActivation>() {
    run(product::BiasActivation<kActivation>{g.bias.data(), g.pre_activation.data(),
                                             g.pre_activation.stride()});
  });
}

// One panel of op(B): b is at its first column.
void PackPanel(Op op, const float* b, size_t ldb, size_t cols, size_t k, float* to) {
  if (op == Op::kNT) {
    product::pack_panel_transposed(b, ldb, cols, k, to);
  } else {
    product::pack_panels(b, ldb, cols, k, to, k * product::kPanel);
  }
}

// Tiles of many rows use enough of what they read to pay for operands in place.
bool HasTallTiles() { return product::k32Registers; }

}  // namespace rapt::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rapt::kernels {
HWY_EXPORT(Multiply);
HWY_EXPORT(PackPanel);
HWY_EXPORT(HasTallTiles);

namespace {

// A whose rows are whole pages apart: a panel of more than eight rows falls into one set of an L1
// cache with eight ways.
bool rows_collide(const Gemm& g) { return g.a.stride() % 1024 == 0 && g.m() > 8; }

// Measured (docs/math/linear.md). With tall tiles B is read in place for kTN, where the micro-kernel
// requests its rows, and when they are at most 2 KiB apart, which the L1 prefetcher follows; with six
// rows up to 512 bytes; and always when there is no reuse to pay a packing. Small blocks of B for few
// rows, so that they are used before they leave the L2 cache. A of a kTN is packed where tiles are not
// tall and there are enough columns and rows of C to pay for it.
GemmBlocks choose_blocks(const Gemm& g, const GemmTuning& tuning, bool packed) {
  const bool tn = g.op == Op::kTN, tall = HWY_DYNAMIC_DISPATCH(HasTallTiles)();
  constexpr size_t kFewRows = 32;
  GemmBlocks blocks{};
  if (tuning.direct_below >= 0) {
    blocks.direct = g.m() <= static_cast<size_t>(tuning.direct_below);
  } else {
    const size_t near = !tall ? 128 : tn ? 8192 : g.k() <= kMaxBlock ? 512 : 0;
    blocks.direct = g.m() <= (tn && !tall ? kFewRows : kMostRows) || g.b.stride() <= near;
  }
  blocks.direct = blocks.direct && !packed && g.op != Op::kNT;
  blocks.columns = tuning.columns != 0 ? tuning.columns
                   : tn && !tall       ? 512
                   : g.m() <= 128      ? 64
                                       : 256;
  blocks.columns = std::min(blocks.columns, ceil_div(g.n(), PackedB::kWidth) * PackedB::kWidth);
  blocks.pack_a = tuning.pack_a >= 0 ? tuning.pack_a != 0
                  : tn               ? !tall && g.m() > kFewRows && g.n() > 64
                                     : rows_collide(g);
  return blocks;
}

// Below some microseconds of work, waking a thread costs more than it does.
constexpr size_t kWorthAThread = 200'000;

void run(const Gemm& g, const float* packed, const GemmTuning& tuning, Pool& pool) {
  const size_t m = g.m(), n = g.n(), k = g.k();
  assert((g.op == Op::kTN ? g.a.cols() : g.a.rows()) == m);
  assert(g.bias.empty() || g.bias.size() == n);
  assert(g.pre_activation.data() == nullptr ||
         (g.pre_activation.rows() == m && g.pre_activation.cols() == n));
  if (m == 0 || n == 0) return;
  const GemmBlocks blocks = choose_blocks(g, tuning, packed != nullptr);
  const size_t threads = m * n * k < kWorthAThread ? 1 : pool.threads();
  const Grid grid = choose_grid(m, n, threads, packed == nullptr && !blocks.direct);
  const auto multiply = HWY_DYNAMIC_DISPATCH(Multiply);
  pool.run(grid.rows * grid.cols, GemmScratch::floats(blocks, packed == nullptr),
           [&](size_t t, float* scratch) {
             const Rectangle part(grid, m, n, t);
             if (!part.empty()) multiply(g, packed, part, blocks, scratch);
           });
}

}  // namespace

void gemm(const Gemm& g, const GemmTuning& tuning, Pool& pool) {
  assert((g.op == Op::kNT ? g.b.cols() : g.b.rows()) == g.k());
  assert((g.op == Op::kNT ? g.b.rows() : g.b.cols()) == g.n());
  run(g, nullptr, tuning, pool);
}

void gemm(const Gemm& g, Pool& pool) { gemm(g, GemmTuning(), pool); }

void gemm(const Gemm& g, const PackedB& b, Pool& pool) {
  assert(b.n == g.n() && b.k == g.k());
  run(g, b.data, GemmTuning(), pool);
}

PackedB pack_b(Op op, MatrixView<const float> b, std::span<float> memory, Pool& pool) {
  const bool nt = op == Op::kNT;
  const size_t n = nt ? b.rows() : b.cols(), k = nt ? b.cols() : b.rows();
  assert(memory.size() >= PackedB::floats(n, k));
  assert(reinterpret_cast<uintptr_t>(memory.data()) % 64 == 0);
  pool.row_blocks(n, PackedB::kWidth, [&](size_t begin, size_t end) {
    const float* from = b.data() + begin * (nt ? b.stride() : 1);
    // Chosen here: kept before the first call of any kernel, it would ask the CPU at every call.
    HWY_DYNAMIC_DISPATCH(PackPanel)
    (op, from, b.stride(), end - begin, k, memory.data() + begin * k);
  });
  return {memory.data(), n, k};
}

}  // namespace rapt::kernels
#endif  // HWY_ONCE

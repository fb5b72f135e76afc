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

// Rows far apart fall into few sets of L1 and L2, so L3 brings them again for each tile. AMD's does so
// in time; the one of Intel's servers is shared by more cores and slower.
bool has_fast_l3() {
#if HWY_ARCH_X86
  return __builtin_cpu_is("amd") != 0;
#else
  return false;
#endif
}

// How operands are read, measured (docs/math/linear.md). Tiles of many rows use enough of what they
// read to pay for operands in place, if L3 is fast.
struct Reading {
  explicit Reading(const Gemm& g)
      : tn(g.op == Op::kTN),
        tall(HWY_DYNAMIC_DISPATCH(HasTallTiles)()),
        in_place(tall && has_fast_l3()),
        few(tall ? 64 : 32) {}
  // The longest rows of B, in floats, that are read in place: for kTN the micro-kernel requests
  // them, else the L1 prefetcher follows them up to 2 KiB.
  size_t longest_row_of_b(const Gemm& g) const {
    if (in_place) return tn ? 8192 : g.k() <= kMaxBlock ? 512 : 0;
    return tall && !tn && g.m() <= few ? 512 : 128;
  }
  // As many rows of A do not pay for a packing of B, whatever its rows.
  size_t rows_in_place() const { return tn && !in_place ? few : kMostRows; }
  // A of a kTN is packed where there are enough rows and columns of C to pay for it.
  bool packs_a(const Gemm& g) const {
    return tn ? !in_place && g.m() > few && g.n() > 64 : rows_collide(g);
  }
  // Small blocks of B for few rows, so that they are used before they leave the L2 cache.
  size_t columns_of_b(const Gemm& g) const {
    return tn && !in_place ? 512 : g.m() <= 128 ? 64 : 256;
  }

  bool tn, tall, in_place;
  size_t few;  // rows of C
};

GemmBlocks choose_blocks(const Gemm& g, const GemmTuning& tuning, bool packed) {
  const Reading reading(g);
  const bool direct = tuning.direct_below >= 0 ? g.m() <= static_cast<size_t>(tuning.direct_below)
                                               : g.m() <= reading.rows_in_place() ||
                                                     g.b.stride() <= reading.longest_row_of_b(g);
  const size_t columns = tuning.columns != 0 ? tuning.columns : reading.columns_of_b(g);
  return {
      .columns = std::min(columns, ceil_div(g.n(), PackedB::kWidth) * PackedB::kWidth),
      .direct = direct && !packed && g.op != Op::kNT,
      .pack_a = tuning.pack_a >= 0 ? tuning.pack_a != 0 : reading.packs_a(g),
  };
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

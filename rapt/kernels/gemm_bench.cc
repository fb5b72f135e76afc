// GFLOP/s of the matrix product and its share of what this CPU can do with fused multiply-adds,
// measured just before. Each case checks elements of its result against the scalar definition.
//   kernels_gemm_bench --benchmark_filter=packed/m:8
#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "rapt/kernels/gemm.h"
#include "rapt/kernels/gemm_ref.h"
#include "rapt/kernels/peak.h"
#include "rapt/parallel/scratch.h"

namespace rapt::kernels {
namespace {

Pool& pool_of(size_t threads) {
  static std::map<size_t, std::unique_ptr<Pool>> pools;
  auto& pool = pools[threads];
  if (pool == nullptr) pool = std::make_unique<Pool>(threads);
  return *pool;
}

// One thread is timed by the CPU time that it got, which neighbours on the machine change less.
double now(const Pool& pool) {
  timespec t;
  clock_gettime(pool.threads() == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Operations a second of all threads of the pool: the best of three.
double peak(Pool& pool) {
  double best = 0;
  for (int i = 0; i < 3; ++i) {
    std::vector<double> operations(pool.threads());
    const double start = now(pool);
    pool.run(pool.threads(), [&](size_t t) { operations[t] = multiply_adds(200'000); });
    const double seconds = now(pool) - start;
    double total = 0;
    for (const double n : operations) total += n;
    best = std::max(best, total / seconds);
  }
  return best;
}

struct Data {
  Data(Op op_, size_t m_, size_t n_, size_t k_) : op(op_), m(m_), n(n_), k(k_) {
    float* p = memory.reserve(m * k + n * k + m * n + n + PackedB::floats(n, k) + 64);
    const auto take = [&](size_t count) {
      for (size_t i = 0; i < count; ++i)
        p[i] = static_cast<float>(i * 2654435761u % 1024) / 512 - 1;
      return std::exchange(p, p + (count + 15) / 16 * 16);
    };
    const bool tn = op == Op::kTN, nt = op == Op::kNT;
    a = {take(m * k), tn ? k : m, tn ? m : k};
    b = {take(n * k), nt ? n : k, nt ? k : n};
    c = {take(m * n), m, n};
    packed = {p, PackedB::floats(n, k)};
  }
  Gemm gemm() const { return {.op = op, .a = a, .b = b, .c = c}; }

  // Some elements: far off is a wrong product, one rounding off is a target without FMA.
  bool right() const {
    const GemmRef<float> ref{.op = op, .a = a, .b = b};
    for (size_t i = 0; i < 64; ++i) {
      const size_t row = i * 7919 % m, col = i * 104729 % n;
      const float want = ref(row, col), got = c.row(row)[col];
      if (!(std::abs(got - want) <= 1e-5f * static_cast<float>(k))) return false;
    }
    return true;
  }

  Op op;
  size_t m, n, k;
  ScratchBuffer memory;
  MatrixView<const float> a, b;
  MatrixView<float> c;
  std::span<float> packed;
};

using Work = FunctionRef<void()>;

// Times `timed` once the result of `checked` is right.
void measure(benchmark::State& state, const Data& data, Pool& pool, Work checked, Work timed) {
  checked();
  if (!data.right()) return state.SkipWithError("wrong result");
  const double best = peak(pool), work = 2.0 * static_cast<double>(data.m * data.n * data.k);
  timed();
  for (auto _ : state) timed();
  const double done = work * static_cast<double>(state.iterations());
  state.counters["FLOP/s"] = benchmark::Counter(done, benchmark::Counter::kIsRate);
  state.counters["of_peak"] = benchmark::Counter(done / best, benchmark::Counter::kIsRate);
}

enum class Kind { kPlain, kPacked, kGelu };

void product(benchmark::State& state, Op op, Kind kind) {
  const auto size = [&](size_t i) { return static_cast<size_t>(state.range(i)); };
  Data data(op, size(0), size(1), size(2));
  Pool& pool = pool_of(size(3));
  const Gemm plain = data.gemm();
  const auto multiply = [&] { gemm(plain, pool); };
  if (kind == Kind::kPlain) return measure(state, data, pool, multiply, multiply);
  const PackedB form = pack_b(op, data.b, data.packed, pool);
  Gemm g = plain;
  if (kind == Kind::kGelu) g.activation = Activation::kGelu;
  measure(
      state, data, pool, [&] { gemm(plain, form, pool); }, [&] { gemm(g, form, pool); });
}

// The sizes of the paper's base model and of small ones.
void shapes(benchmark::internal::Benchmark* b, int64_t threads) {
  b->ArgNames({"m", "n", "k", "threads"});
  for (const int64_t m : {1, 8, 64, 512, 2048}) {
    for (const auto& [n, k] : {std::pair{512, 512}, {2048, 512}, {512, 2048}, {128, 128}}) {
      b->Args({m, n, k, threads});
    }
  }
}
void one_thread(benchmark::internal::Benchmark* b) { shapes(b, 1); }
void two_threads(benchmark::internal::Benchmark* b) { shapes(b->UseRealTime(), 2); }

#define RAPT_PRODUCT(name, op, kind)                                       \
  BENCHMARK_CAPTURE(product, name, Op::op, Kind::kind)->Apply(one_thread); \
  BENCHMARK_CAPTURE(product, name, Op::op, Kind::kind)->Apply(two_threads)
RAPT_PRODUCT(nn, kNN, kPlain);
RAPT_PRODUCT(nt, kNT, kPlain);
RAPT_PRODUCT(tn, kTN, kPlain);
RAPT_PRODUCT(packed, kNT, kPacked);
RAPT_PRODUCT(packed_gelu, kNT, kGelu);

}  // namespace
}  // namespace rapt::kernels

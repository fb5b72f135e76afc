// Matrix products: what the gemm group of tools/peers/torch_layers.py does, by rapt; and with
// weights packed beforehand, as decoding has them.
#include <cmath>

#include "apps/rapt/bench/arrays.h"
#include "apps/rapt/bench/bench.h"
#include "apps/rapt/bench/measure.h"
#include "rapt/kernels/gemm_ref.h"

namespace rapt::app::bench {
namespace {

using kernels::Activation;
using kernels::Gemm;
using kernels::Op;
using kernels::PackedB;

struct Size {
  size_t m, n, k;
};
constexpr Size kSizes[] = {
    {512, 512, 512},  {2048, 512, 512}, {2048, 2048, 512}, {2048, 512, 2048}, {4096, 1024, 256},
    {6400, 256, 256}, {64, 512, 512},   {8, 512, 512},     {1, 512, 512},     {64, 2048, 512},
    {8, 2048, 512},   {1, 2048, 512},   {512, 2048, 512},  {1024, 32000, 512}};

// The operands of one size; b is [n, k], bt its transpose.
struct Operands {
  Tensor a, at, b, bt, c, packed, bias;

  explicit Operands(const Size& s)
      : a(random_tensor("a", {s.m, s.k})),
        at(transposed(a)),
        b(random_tensor("b", {s.n, s.k})),
        bt(transposed(b)),
        c(Tensor::zeros({s.m, s.n})),
        packed(Tensor::zeros({PackedB::floats(s.n, s.k)})),
        bias(random_tensor("bias", {s.n})) {}

  static Tensor transposed(const Tensor& x) {
    const Tensor t = Tensor::zeros({x.cols(), x.rows()});
    for (size_t i = 0; i < x.rows(); ++i) {
      for (size_t j = 0; j < x.cols(); ++j) t.matrix().row(j)[i] = x.matrix().row(i)[j];
    }
    return t;
  }

  Gemm gemm(Op op) const {
    return {.op = op,
            .a = op == Op::kTN ? at.matrix() : a.matrix(),
            .b = op == Op::kNT ? b.matrix() : bt.matrix(),
            .c = c.matrix()};
  }
};

// 64 elements against the scalar definition, which has their bits where the CPU has fused
// multiply-add; elsewhere roundings differ.
void check_product(const Gemm& g, const std::string& name) {
  const kernels::GemmRef<float> ref{.op = g.op, .a = g.a, .b = g.b};
  const float bound = 1e-5f * static_cast<float>(g.k());
  for (size_t i = 0; i < 64; ++i) {
    const size_t row = i * 7919 % g.m(), col = i * 104729 % g.n();
    check_result(std::abs(ref(row, col) - g.c.row(row)[col]) <= bound, name);
  }
}

void measure(const Size& s, const Options& options, Pool& pool, Machine& machine) {
  const Operands x(s);
  const PackedB packed = kernels::pack_b(Op::kNT, x.b.matrix(), x.packed.span(), pool);
  const std::string tag = concat("float32_", s.m, 'x', s.n, 'x', s.k);
  std::vector<Case> cases;
  const auto add = [&](const std::string& kind, const Gemm& g, const PackedB* b) {
    const auto run = [=, &pool] { b != nullptr ? gemm(g, *b, pool) : gemm(g, pool); };
    run();
    if (g.activation == Activation::kNone) check_product(g, kind + tag);
    cases.push_back({.name = kind + tag, .run = run});
    cases.back().shape = {{"M", s.m}, {"N", s.n}, {"K", s.k}};
    cases.back().flops = 2.0 * static_cast<double>(s.m * s.n * s.k);
  };
  add("gemm_nn_", x.gemm(Op::kNN), nullptr);
  add("gemm_nt_", x.gemm(Op::kNT), nullptr);
  add("gemm_tn_", x.gemm(Op::kTN), nullptr);
  add("gemm_packed_", x.gemm(Op::kNT), &packed);
  Gemm gelu = x.gemm(Op::kNT);
  gelu.bias = x.bias.span();
  gelu.activation = Activation::kGelu;
  add("gemm_packed_gelu_", gelu, &packed);
  run_cases(cases, options.rounds_or(9), options.threads, machine);
}

}  // namespace

void run_gemm(const Options& options) {
  Pool pool(options.threads);
  Machine machine(pool);
  if (options.small) {
    measure({5, 70, 33}, options, pool, machine);
  } else {
    for (const Size& s : kSizes) measure(s, options, pool, machine);
  }
  machine.emit();
}

}  // namespace rapt::app::bench

// Attention kernels: what tools/peers/torch_attention.py does, by rapt. Useful operations: two
// products forward, five backward, of every query with every key, half of them under a causal mask.
// Key masks and dropout count as dense, so that gflops show what a mask or dropout costs.
#include <cmath>

#include "apps/rapt/bench/arrays.h"
#include "apps/rapt/bench/bench.h"
#include "apps/rapt/bench/measure.h"
#include "rapt/kernels/attention_ref.h"

namespace rapt::app::bench {
namespace {

using kernels::Attention;
using kernels::AttentionGrad;
using kernels::AttentionSequence;

constexpr size_t kWidth = 512;  // heads * dim

struct Work {
  std::vector<uint32_t> queries, keys;  // by sentence
  bool causal = false;
  double dropout = 0;
};

// Sentences one after another, rows of [heads, dim], as a projection writes them.
class Problem {
 public:
  Problem(const Work& work, size_t heads, size_t dim) : causal_(work.causal) {
    size_t rows = 0, padded = 0;
    for (size_t s = 0; s < work.queries.size(); ++s) {
      rows += work.queries[s];
      padded += std::max(work.queries[s], work.keys[s]);
    }
    const Shape shape = {padded, heads * dim};
    q_ = random_tensor("q", shape), k_ = random_tensor("k", shape);
    v_ = random_tensor("v", shape), dout_ = random_tensor("dout", shape);
    out_ = Tensor::zeros(shape), dq_ = Tensor::zeros(shape);
    dk_ = Tensor::zeros(shape), dv_ = Tensor::zeros(shape);
    lse_ = Tensor::zeros({heads, rows});
    a_.heads = a_.kv_heads = heads;
    a_.dim = a_.dim_v = dim;
    a_.scale = 1.0f / std::sqrt(static_cast<float>(dim));
    a_.q = a_.k = a_.v = a_.out = {heads * dim, dim};
    a_.lse_stride = rows;
    a_.dropout = DropRate::of(work.dropout);
    a_.dropout_key = op_key(1, Stream::kDropout, site_of("bench attention"), 0);
    size_t row = 0;
    for (size_t s = 0; s < work.queries.size(); ++s) {
      const size_t at = row * heads * dim;
      AttentionSequence one;
      one.q = q_.data() + at, one.k = k_.data() + at, one.v = v_.data() + at;
      one.out = out_.data() + at, one.lse = lse_.data() + row;
      one.id = s, one.queries = work.queries[s], one.keys = work.keys[s];
      if (work.causal) one.band.last = 0;
      sequences_.push_back(one);
      grads_.push_back({.dout = dout_.data() + at,
                        .dq = dq_.data() + at,
                        .dk = dk_.data() + at,
                        .dv = dv_.data() + at});
      row += work.queries[s];
    }
    plan_.resize(kernels::attention_plan_size(a_, sequences_));
  }

  void forward(Pool& pool) { kernels::attention_forward(a_, sequences_, plan_, pool); }
  void backward(Pool& pool) { kernels::attention_backward(a_, sequences_, grads_, plan_, pool); }

  // The last row of the last sentence against the formula. Backward: the scores' gradient reaches
  // q and k alike, so sum(q dq) = sum(k dk).
  void check(Pool& pool, const std::string& name) {
    forward(pool);
    backward(pool);
    const AttentionSequence& s = sequences_.back();
    AttentionSequence last = s;
    last.query_position = s.queries - 1;
    last.queries = 1;
    const size_t row = a_.heads * a_.dim;
    const auto numbers = [](const float* x, size_t n) { return std::vector<double>(x, x + n); };
    std::vector<double> want(row);
    kernels::attention_ref<double>(a_, last, numbers(s.q + (s.queries - 1) * row, row),
                                   numbers(s.k, s.keys * row), numbers(s.v, s.keys * row), {}, {},
                                   want);
    for (size_t c = 0; c < row; ++c) {
      check_result(std::abs(want[c] - s.out[(s.queries - 1) * row + c]) <= 1e-4, name);
    }
    const double of_q = dot(q_, dq_), of_k = dot(k_, dk_);
    check_result(std::abs(of_q - of_k) <= 1e-3 * std::sqrt(dot(dq_, dq_) * dot(q_, q_)),
                 name + ", backward");
  }

  double results_mb() const {  // of both passes
    size_t floats = 0;
    for (const Tensor& x : {out_, lse_, dq_, dk_, dv_}) floats += x.size();
    return static_cast<double>(floats * sizeof(float)) / (1 << 20);
  }
  double flops() const {  // forward
    double pairs = 0;
    for (const AttentionSequence& s : sequences_) pairs += 1.0 * s.queries * s.keys;
    return 4 * pairs * static_cast<double>(a_.heads * a_.dim) / (causal_ ? 2 : 1);
  }

 private:
  static double dot(const Tensor& x, const Tensor& y) {
    double sum = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      sum += static_cast<double>(x.host()[i]) * static_cast<double>(y.host()[i]);
    }
    return sum;
  }

  bool causal_;
  Attention a_;
  Tensor q_, k_, v_, out_, lse_, dout_, dq_, dk_, dv_;
  std::vector<AttentionSequence> sequences_;
  std::vector<AttentionGrad> grads_;
  std::vector<uint32_t> plan_;
};

// Key lengths of the key mask: spread evenly over [T / 2, T], as torch.linspace(T // 2, T, B).
std::vector<uint32_t> spread(size_t batch, uint32_t t) {
  if (batch == 1) return {3 * t / 4};
  std::vector<uint32_t> lengths;
  for (size_t i = 0; i < batch; ++i) {
    lengths.push_back(t / 2 + static_cast<uint32_t>((t - t / 2) * i / (batch - 1)));
  }
  return lengths;
}

struct Variant {
  std::string name;
  Work work;
  double flops = 0;  // forward, of what is done without the mask; 0: of what is done
};

void measure(std::vector<Variant> variants, const Json& shape, size_t heads, size_t dim,
             const Options& options, Pool& pool, Machine& machine) {
  std::vector<std::unique_ptr<Problem>> problems;
  std::vector<Case> cases;
  for (const Variant& v : variants) {
    problems.push_back(std::make_unique<Problem>(v.work, heads, dim));
    Problem& p = *problems.back();
    const std::string name = "attention_" + v.name;
    p.check(pool, name);
    const double flops = v.flops > 0 ? v.flops : p.flops();
    const Json more{{"layout", "BTHD"}};
    cases.push_back({name + "_forward", [&] { p.forward(pool); }, shape, flops, more});
    cases.push_back({name + "_forward_backward",
                     [&] {
                       p.forward(pool);
                       p.backward(pool);
                     },
                     shape, 3.5 * flops, more});
  }
  run_cases(cases, options.rounds_or(7), options.threads, machine);
}

void measure_length(uint32_t t, size_t dim, const Options& options, Pool& pool, Machine& machine) {
  const size_t batch = std::max<size_t>(1, options.tokens / t), heads = kWidth / 64;
  const std::vector<uint32_t> whole(batch, t);
  const double dense = 4.0 * static_cast<double>(batch * heads * dim) * t * t;
  measure({{"dense", {whole, whole}},
           {"causal", {whole, whole, true}},
           {"key_mask", {whole, spread(batch, t)}, dense},
           {"dropout", {whole, whole, false, 0.1}}},
          {{"B", batch}, {"H", heads}, {"T", t}, {"D", dim}}, heads, dim, options, pool, machine);
}

// 64 sentences of 5 to 60 tokens, one after another; others pad them to 60.
void measure_ragged(const Options& options, Pool& pool, Machine& machine) {
  Work work;
  for (uint32_t i = 0; i < 64; ++i) work.queries.push_back(5 + i * 37 % 56);
  work.keys = work.queries;
  measure({{"ragged", work}}, {{"B", 64}, {"H", 8}, {"T", 60}, {"D", 64}}, 8, 64, options, pool,
          machine);
}

// What both passes take beside their results: the scratch of the threads.
void measure_memory(const Options& options, Pool& pool) {
  const uint32_t t = options.longest >= 2048 ? 8192 : static_cast<uint32_t>(options.longest);
  Problem problem({{t}, {t}}, 8, 64);
  forget_peak_rss();
  const double before = rss_mb();
  problem.forward(pool);
  problem.backward(pool);
  emit({{"peer", "rapt"},
        {"case", "attention_memory"},
        {"threads", options.threads},
        {"dtype", "float32"},
        {"shape", {{"B", 1}, {"H", 8}, {"T", t}, {"D", 64}}},
        {"results_mb", problem.results_mb()},
        {"extra_mb", peak_rss_mb() - before}});
}

}  // namespace

void run_attention(const Options& options) {
  Pool pool(options.threads);
  measure_memory(options, pool);  // before anything else has grown the scratch
  Machine machine(pool);
  for (const uint32_t t : {32, 64, 128, 256, 512, 1024, 2048, 8192}) {
    if (t <= options.longest) measure_length(t, 64, options, pool, machine);
  }
  if (options.longest >= 512) {
    for (const size_t dim : {32, 128}) measure_length(512, dim, options, pool, machine);
  }
  measure_ragged(options, pool, machine);
  emit({{"peer", "rapt"},
        {"case", "attention_peak_rss"},
        {"threads", options.threads},
        {"peak_rss_mb", peak_rss_mb()}});
  machine.emit();
}

}  // namespace rapt::app::bench

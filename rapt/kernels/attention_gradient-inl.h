// P and dS of one block of queries against one block of keys, recomputed from Q, K, V and lse: what
// both backward passes begin with. Queries are the SIMD lanes.
#if defined(RAPT_KERNELS_ATTENTION_GRADIENT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RAPT_KERNELS_ATTENTION_GRADIENT_INL_H_
#undef RAPT_KERNELS_ATTENTION_GRADIENT_INL_H_
#else
#define RAPT_KERNELS_ATTENTION_GRADIENT_INL_H_
#endif

#include <limits>
#include <span>

#include "rapt/kernels/attention_score-inl.h"
#include "rapt/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rapt::kernels::HWY_NAMESPACE {
namespace attn {

class GradientBlock {
 public:
  GradientBlock(const Attention& a, const AttentionSequence& s, const AttentionGrad& grad,
                Scratch& scratch)
      : a_(a),
        s_(s),
        grad_(grad),
        range_(s),
        adjust_(a, 0, false),
        softcap_(a.softcap),
        p_(scratch.take(kBlock * kBlock)),
        ds_(scratch.take(kBlock * kBlock)),
        slope_(scratch.take(kBlock * kBlock)),
        bias_(scratch.take(kBlock * kBlock)),
        qt_(scratch.take(kBlock * a.dim)),
        dot_(scratch.take(kBlock * a.dim_v)),
        lse_(scratch.take(kBlock)),
        delta_(scratch.take(kBlock)) {}
  static size_t scratch_floats(const Attention& a) {
    return 4 * kBlock * kBlock + kBlock * (a.dim + a.dim_v + 2) + 16 * 16;
  }

  // P (dropped, scaled) and dS as [keys, kBlock] for the queries and keys of the last call.
  const float* p() const { return p_; }
  const float* ds() const { return ds_; }
  const KeyRange& range() const { return range_; }
  size_t rows() const { return rows_; }
  size_t first() const { return range_.first_chain(query_); }
  size_t stop() const { return range_.stop(query_ + rows_ - 1); }
  const float* q() const { return s_.q + head_ * a_.q.head + query_ * a_.q.row; }
  const float* dout() const { return grad_.dout + head_ * a_.out.head + query_ * a_.out.row; }

  void set_head(size_t head) {
    head_ = head;
    adjust_ = Adjust(a_, head, s_.bias != nullptr);
  }
  // lse and delta = rowsum(O * dO) of the queries query, query + 1, …
  void set_rows(size_t query, size_t rows) {
    constexpr float kInf = std::numeric_limits<float>::infinity();
    query_ = query;
    rows_ = rows;
    const float* out = s_.out + head_ * a_.out.head + query * a_.out.row;
    const float* lse = s_.lse + head_ * a_.lse_stride + query;
    for (size_t r = 0; r < rows; ++r) {
      delta_[r] = sum_of([](Vec x, Vec y) HWY_ATTR { return hn::Mul(x, y); },
                         std::span<const float>(out + r * a_.out.row, a_.dim_v),
                         std::span<const float>(dout() + r * a_.out.row, a_.dim_v));
      lse_[r] = lse[r] == -kInf ? kInf : lse[r];  // 2^(S - inf) = 0: no gradient
    }
    std::fill(lse_ + rows, lse_ + kBlock, kInf);
    std::fill(delta_ + rows, delta_ + kBlock, 0.0f);
  }
  // The sink has no value, so its dS = -P delta. Adds those of these queries, in order.
  float sink_gradient() const {
    alignas(64) float ds[kBlock];
    const Vec logit = hn::Set(F32(), a_.sink[head_] * kLog2E);
    for (size_t r = 0; r < kBlock; r += kLanes) {
      const Vec p = exp2_nonpositive(hn::Sub(logit, hn::Load(F32(), lse_ + r)));
      hn::Store(hn::Mul(p, hn::Load(F32(), delta_ + r)), F32(), ds + r);
    }
    float sum = 0.0f;
    for (size_t r = 0; r < rows_; ++r) sum -= ds[r];
    return sum;
  }
  void pack_rows() {
    // The dropout scale, put into dO here, makes dP right where a key is kept.
    split_vectors(vectors(rows_), kMaxVecs, [&](size_t vec, size_t count) HWY_ATTR {
      const size_t first = vec * kLanes, width = count * kLanes;
      const size_t n = std::min(width, rows_ - first);
      pack_transposed(q() + first * a_.q.row, a_.q.row, n, a_.dim, a_.scale * kLog2E,
                      qt_ + first * a_.dim, width, width);
      pack_transposed(dout() + first * a_.out.row, a_.out.row, n, a_.dim_v, a_.dropout.scale(),
                      dot_ + first * a_.dim_v, width, width);
    });
  }

  // The keys key, key + 1, …; key is a multiple of 8. dS is the gradient of what the bias is added
  // to or, if before_cap, of scale * Q K^T.
  void run(size_t key, size_t keys, Rows k, Rows v, bool before_cap, Prefetch& ahead) {
    split_vectors(vectors(rows_), kMaxVecs, [&](size_t vec, size_t count) HWY_ATTR {
      panel(vec * kLanes, count, key, keys, k, v, before_cap && a_.softcap != 0.0f, ahead);
    });
  }

 private:
  void panel(size_t first, size_t vecs, size_t key, size_t keys, Rows k, Rows v, bool before_cap,
             Prefetch& ahead) {
    const size_t width = vecs * kLanes, n = std::min(width, rows_ - first);
    const size_t query = query_ + first, last_query = query + n - 1;
    const size_t stop = std::min(key + keys, std::max(key, range_.stop(last_query)));
    const size_t alive = range_.first(query) >= key + keys ? 0 : stop - key;
    float *p = p_ + first, *ds = ds_ + first;
    for (size_t j = alive; j < keys; ++j) {
      std::fill_n(p + j * kBlock, width, 0.0f);
      std::fill_n(ds + j * kBlock, width, 0.0f);
    }
    if (alive == 0) return;
    product<false>(alive, vecs, k.data, k.stride, qt_ + first * a_.dim, width, a_.dim,
                   Prefetching{Store{p, kBlock}, ahead});
    product<false>(alive, vecs, v.data, v.stride, dot_ + first * a_.dim_v, width, a_.dim_v,
                   Prefetching{Store{ds, kBlock}, ahead});
    const bool masked = !range_.all(query, last_query, key, key + alive);
    if (s_.bias != nullptr) pack_bias(query, n, key, alive, first, width);
    for (size_t u = first; u < first + width; u += kLanes) {
      if (before_cap) cap_slopes(u, alive);
      if (masked || adjust_.any()) adjust(u, query_ + u, key, alive, masked);
      a_.dropout.on() ? dropped_probabilities(u, key, alive) : probabilities(u, alive);
      if (before_cap) multiply_slopes(u, alive);
    }
  }

  void pack_bias(size_t query, size_t rows, size_t key, size_t keys, size_t first, size_t width) {
    const size_t row = s_.query_position + query, from = std::max(key, range_.begin);
    const float* bias = s_.bias + head_ * a_.bias.head + row * a_.bias.row + range_.base;
    for (size_t j = 0; j < from - key; ++j) std::fill_n(bias_ + j * kBlock + first, width, 0.0f);
    pack_transposed(bias + from, a_.bias.row, rows, keys - (from - key), 1.0f,
                    bias_ + (from - key) * kBlock + first, width, kBlock);
  }

  void cap_slopes(size_t u, size_t keys) {
    for (size_t j = 0; j < keys; ++j) {
      const Vec tanh = softcap_.tanh(hn::Load(F32(), p_ + j * kBlock + u));
      hn::Store(softcap_.slope(tanh), F32(), slope_ + j * kBlock + u);
    }
  }
  void multiply_slopes(size_t u, size_t keys) {
    for (size_t j = 0; j < keys; ++j) {
      float* ds = ds_ + j * kBlock + u;
      hn::Store(hn::Mul(hn::Load(F32(), ds), hn::Load(F32(), slope_ + j * kBlock + u)), F32(), ds);
    }
  }

  void adjust(size_t u, size_t query, size_t key, size_t keys, bool masked) {
    const F32 f32;
    const LaneBand band(range_, query, key);
    Ints offset = lane_offsets(s_, range_, query, key);
    for (size_t j = 0; j < keys; ++j) {
      float* s = p_ + j * kBlock + u;
      Vec x = adjust_(hn::Load(f32, s), bias_ + j * kBlock + u, offset);
      if (masked) x = band(x, j);
      hn::Store(x, f32, s);
      offset = hn::Add(offset, hn::Set(I32(), 1));
    }
  }

  void probabilities(size_t u, size_t keys) {
    const F32 f32;
    const Vec lse = hn::Load(f32, lse_ + u), delta = hn::Load(f32, delta_ + u);
    float *p = p_ + u, *ds = ds_ + u;
    for (size_t j = 0; j < keys; ++j, p += kBlock, ds += kBlock) {
      const Vec x = exp2_nonpositive(hn::Sub(hn::Load(f32, p), lse));
      hn::Store(x, f32, p);
      hn::Store(hn::Mul(x, hn::Sub(hn::Load(f32, ds), delta)), f32, ds);
    }
  }

  void dropped_probabilities(size_t u, size_t key, size_t keys) {
    const F32 f32;
    const Vec lse = hn::Load(f32, lse_ + u), delta = hn::Load(f32, delta_ + u);
    const Vec keep = hn::Set(f32, a_.dropout.scale());
    const uint32_t position = s_.query_position + static_cast<uint32_t>(query_ + u);
    for (size_t j = 0; j < keys; j += 8) {
      const uint32_t group = (range_.base + static_cast<uint32_t>(key + j)) / 8;
      const Draws draws(a_, s_.id, head_, position, group);
      for_eight([&]<int i>() HWY_ATTR {
        if (j + i >= keys) return;
        float *p = p_ + (j + i) * kBlock + u, *ds = ds_ + (j + i) * kBlock + u;
        const Vec x = exp2_nonpositive(hn::Sub(hn::Load(f32, p), lse));
        const Vec dp = draws.apply<i>(hn::Load(f32, ds));
        hn::Store(draws.apply<i>(hn::Mul(x, keep)), f32, p);
        hn::Store(hn::Mul(x, hn::Sub(dp, delta)), f32, ds);
      });
    }
  }

  const Attention& a_;
  const AttentionSequence& s_;
  const AttentionGrad& grad_;
  const KeyRange range_;
  Adjust adjust_;
  const Softcap softcap_;
  size_t head_ = 0, query_ = 0, rows_ = 0;
  float *const p_, *const ds_, *const slope_, *const bias_, *const qt_, *const dot_;
  float *const lse_, *const delta_;
};

}  // namespace attn
}  // namespace rapt::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // RAPT_KERNELS_ATTENTION_GRADIENT_INL_H_

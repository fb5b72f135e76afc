// Few queries of all heads, against keys whose heads are interleaved: decoding. Heads are the SIMD
// lanes of the scores, so that keys are read as they are and the softmax is vertical. The bits are
// those of ForwardTile and RowsTask: each score is the same chain over dim, each sum the same tree.
#if defined(RAPT_KERNELS_ATTENTION_HEADS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RAPT_KERNELS_ATTENTION_HEADS_INL_H_
#undef RAPT_KERNELS_ATTENTION_HEADS_INL_H_
#else
#define RAPT_KERNELS_ATTENTION_HEADS_INL_H_
#endif

#include "rapt/kernels/attention_prefetch-inl.h"
#include "rapt/kernels/attention_score-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rapt::kernels::HWY_NAMESPACE {
namespace attn {

// Calls f with the tag of the lanes that `heads`, a multiple of 4, are cut into.
template <class F>
HWY_INLINE void with_head_lanes(size_t heads, const F& f) {
  if (kLanes >= 8 && heads % 8 == 0) return f(hn::CappedTag<float, 8>());
  f(hn::CappedTag<float, 4>());
}

// y[d * heads + h] = factor * x[h * head + d] for d < dim
HWY_INLINE void interleave_heads(const float* x, size_t head, size_t heads, size_t dim,
                                 float factor, float* y) {
  with_head_lanes(heads, [&](auto lanes) HWY_ATTR {
    for (size_t h = 0; h < heads; h += hn::MaxLanes(lanes)) {
      const auto at = [&](size_t i) { return x + (h + i) * head; };
      transpose_block(lanes, at, dim, factor, y + h, heads);
    }
  });
}

class HeadsTask {
 public:
  // Queries [query, query + kRowQueries).
  HeadsTask(const Attention& a, const AttentionSequence& s, size_t query, PrefetchSlots& ahead,
            float* memory)
      : a_(a),
        s_(s),
        ahead_(ahead),
        range_(s),
        query_(query),
        queries_(std::min<size_t>(kRowQueries, s.queries - query)),
        rows_(queries_ * a.group()),
        heads_(a.kv_heads),
        lanes_(round_up(rows_ * heads_, kLanes)),
        row_((kKeyTile + kSpare) * heads_),
        k_(key_rows(a, s, 0)),
        v_(value_rows(a, s, 0)),
        scratch_(memory),
        state_(scratch_, lanes_) {
    q_ = scratch_.take(rows_ * heads_ * a.dim);
    p_ = scratch_.take(rows_ * row_);
    old_ = scratch_.take(lanes_);
    tile_sum_ = scratch_.take(lanes_);
    max_ = scratch_.take(std::max(kLanes, heads_));
  }
  static size_t scratch_floats(const Attention& a) {
    const size_t lanes = kRowQueries * a.heads;
    return lanes * (a.dim + kKeyTile + kSpare) + 6 * round_up(lanes, 16) +
           round_up(a.kv_heads, 16) + 16 * 16;
  }

  void run() {
    start();
    const size_t first = range_.first(query_), stop = range_.stop(query_ + queries_ - 1);
    bool is_first = true;
    for (size_t key = first / kKeyTile * kKeyTile; first < stop && key < stop; key += kKeyTile) {
      // Key j joins chain j mod 8 of a sum: the first of the scores is a multiple of 8.
      const size_t visible = std::max(key, first), begin = visible / 8 * 8;
      const size_t end = std::min(stop, key + kKeyTile);
      find_rows(begin, end);
      with_head_lanes(heads_, [&](auto lanes) HWY_ATTR { score(lanes, begin, end); });
      const bool is_last = key + kKeyTile >= stop;
      if (is_last) state_.set_scale(0, lanes_, 1.0f);
      for (size_t h = 0; h < heads_; ++h)
        values(h, visible - begin, end - begin, is_first, is_last);
      is_first = false;
    }
    finish(is_first);
  }

 private:
  // Keys whose scores of 1, 2 or 4 rows are computed together: enough chains to hide the latency of
  // the fused multiply-add, and no more than the registers hold.
  static constexpr bool k32Registers = HWY_TARGET <= HWY_AVX3;
  static constexpr int keys_at_once(int rows) {
    if (rows == 1) return k32Registers ? 12 : 10;
    if (rows == 2) return k32Registers ? 8 : 4;
    return k32Registers ? 4 : 2;
  }
  static constexpr int kLinesAStep = 4;  // of the next sequence, requested with each element of dim
  static constexpr size_t kSpare = 4;    // keys that a tile may reach beyond the last
  static constexpr size_t kMostRows = k32Registers ? 4 : 2;  // whose values are added together

  // A row is a query, and one of the heads that read the same head of the keys.
  size_t query_of(size_t row) const { return query_ + row % queries_; }
  size_t head_of(size_t row, size_t key_head) const {
    return key_head * a_.group() + row / queries_;
  }
  float* out_of(size_t row, size_t key_head) const {
    return s_.out + head_of(row, key_head) * a_.out.head + query_of(row) * a_.out.row;
  }

  void start() {
    for (size_t r = 0; r < rows_; ++r) {
      const float* q = s_.q + head_of(r, 0) * a_.q.head + query_of(r) * a_.q.row;
      interleave_heads(q, a_.group() * a_.q.head, heads_, a_.dim, a_.scale * kLog2E,
                       q_ + r * heads_ * a_.dim);
    }
    state_.start(0, lanes_, nullptr);
    for (size_t i = 0; a_.sink != nullptr && i < rows_ * heads_; ++i) {
      const SoftmaxStart start(a_.sink + head_of(i / heads_, i % heads_));
      state_.max[i] = hn::GetLane(start.max);
      state_.sum[i] = hn::GetLane(start.sum);
    }
  }

  // Where the keys [begin, end) are. Those before the first that exists are hidden, and what a tile
  // computes beyond the end is not used: any row will do.
  void find_rows(size_t begin, size_t end) {
    for (size_t j = begin; j < end + kSpare; ++j) {
      const size_t at = std::clamp(j, range_.begin, end - 1);
      k_row_[j - begin] = k_.row(at);
      v_row_[j - begin] = v_.row(at);
    }
  }

  // P of all rows against the keys [begin, end); the decay and the sums.
  template <class D>
  void score(D lanes, size_t begin, size_t end) {
    for (size_t h = 0; h < heads_; h += hn::MaxLanes(lanes)) {
      size_t r = 0;
      for (; r + 4 <= rows_; r += 4) products<4>(lanes, r, h, end - begin);
      for (; r + 2 <= rows_; r += 2) products<2>(lanes, r, h, end - begin);
      for (; r < rows_; ++r) products<1>(lanes, r, h, end - begin);
    }
    std::copy_n(state_.max, lanes_, old_);
    for (size_t r = 0; r < rows_; ++r) softmax(lanes, r, begin, end);
    state_.advance(lanes_, old_, tile_sum_);
  }

  // The scores of kRows rows, r and those after it, of the heads in the lanes from h on, against all
  // keys: in groups of nearly the same size.
  template <int kRows, class D>
  HWY_INLINE void products(D lanes, size_t r, size_t h, size_t keys) {
    constexpr size_t kMost = keys_at_once(kRows);
    const size_t groups = (keys + kMost - 1) / kMost;
    for (size_t g = 0, first = 0; g < groups; ++g) {
      const size_t count = (keys - first + groups - g - 1) / (groups - g);
      product<kRows, kMost>(lanes, r, h, first, count);
      first += count;
    }
  }
  template <int kRows, int kKeys, class D>
  HWY_INLINE void product(D lanes, size_t r, size_t h, size_t first, size_t count) {
    if constexpr (kKeys > 2) {
      if (count + 2 <= kKeys) return product<kRows, kKeys - 2>(lanes, r, h, first, count);
    }
    product_tile<kRows, kKeys>(lanes, r, h, first);
  }
  template <int kRows, int kKeys, class D>
  HWY_NOINLINE void product_tile(D lanes, size_t r, size_t h, size_t first) {
    using V = hn::Vec<D>;
    V acc[kRows][kKeys];
    const float* k[kKeys];
    RAPT_UNROLL for (int j = 0; j < kKeys; ++j) {
      k[j] = k_row_[first + j] + h;
      RAPT_UNROLL for (int i = 0; i < kRows; ++i) acc[i][j] = hn::Zero(lanes);
    }
    const size_t size = a_.dim * heads_;
    const float* q = q_ + r * size + h;
    for (size_t at = 0; at < size; at += heads_) {
      for (int i = 0; i < kLinesAStep; ++i) ahead_.step();
      V qd[kRows];
      RAPT_UNROLL for (int i = 0; i < kRows; ++i) qd[i] = hn::LoadU(lanes, q + i * size + at);
      RAPT_UNROLL for (int j = 0; j < kKeys; ++j) {
        const V kd = hn::LoadU(lanes, k[j] + at);
        RAPT_UNROLL for (int i = 0; i < kRows; ++i) acc[i][j] = hn::MulAdd(qd[i], kd, acc[i][j]);
      }
    }
    RAPT_UNROLL for (int j = 0; j < kKeys; ++j) {
      float* p = p_ + r * row_ + (first + j) * heads_ + h;
      RAPT_UNROLL for (int i = 0; i < kRows; ++i) hn::StoreU(acc[i][j], lanes, p + i * row_);
    }
  }

  template <class D>
  void softmax(D lanes, size_t r, size_t begin, size_t end) {
    using V = hn::Vec<D>;
    const F32 f32;
    const size_t keys = round_up(end - begin, 8), step = hn::MaxLanes(lanes);
    float *p = p_ + r * row_, *max = state_.max + r * heads_;
    const size_t first = std::clamp(range_.first(query_of(r)), begin, end);
    const size_t stop = std::clamp(range_.stop(query_of(r)), first, end);
    std::fill(p, p + (first - begin) * heads_, kHidden);
    std::fill(p + (stop - begin) * heads_, p + keys * heads_, kHidden);
    for (size_t h = 0; h < heads_; h += step) {
      V top = hn::LoadU(lanes, max + h);
      for (size_t i = h; i < keys * heads_; i += heads_) {
        const V x = hn::LoadU(lanes, p + i);
        top = hn::IfThenElse(hn::Lt(top, x), x, top);
      }
      hn::StoreU(hn::Ceil(top), lanes, max + h);
    }
    // Whole vectors: several keys of few heads, or a part of one key of many.
    const size_t period = std::max(kLanes, heads_);
    for (size_t i = 0; i < period; i += heads_) std::copy_n(max, heads_, max_ + i);
    for (size_t i = 0; i < keys * heads_; i += kLanes) {
      const Vec x = hn::Sub(hn::LoadU(f32, p + i), hn::Load(f32, max_ + i % period));
      hn::StoreU(exp2_nonpositive(x), f32, p + i);
    }
    for (size_t h = 0; h < heads_; h += step) {
      V chain[8];
      RAPT_UNROLL for (int c = 0; c < 8; ++c) chain[c] = hn::Zero(lanes);
      for (const float* at = p + h; at < p + keys * heads_; at += 8 * heads_) {
        RAPT_UNROLL for (int c = 0; c < 8; ++c) {
          chain[c] = hn::Add(chain[c], hn::LoadU(lanes, at + c * heads_));
        }
      }
      hn::StoreU(sum_of_chains(chain), lanes, tile_sum_ + r * heads_ + h);
    }
  }

  // O of all rows that read head h, from the keys [first, end) of the scores.
  void values(size_t h, size_t first, size_t end, bool is_first, bool is_last) {
    split_vectors(a_.dim_v / kLanes, 4, [&](size_t vec, size_t count) HWY_ATTR {
      const auto run = [&]<int kVecs>() HWY_ATTR {
        size_t r = 0;
        const auto rows = [&]<int kRows>() HWY_ATTR {
          for (; r + kRows <= rows_; r += kRows) {
            value_tile<kRows, kVecs>(r, h, vec, first, end, is_first, is_last);
          }
        };
        if constexpr (kMostRows == 4) rows.template operator()<4>();
        rows.template operator()<2>();
        rows.template operator()<1>();
      };
      with_count(count, run);
    });
  }
  template <int kRows, int kVecs>
  HWY_INLINE void value_tile(size_t r, size_t h, size_t vec, size_t first, size_t end,
                             bool is_first, bool is_last) {
    const F32 f32;
    Vec acc[kRows][1][kVecs];
    RAPT_UNROLL for (int i = 0; i < kRows; ++i) {
      RAPT_UNROLL for (int v = 0; v < kVecs; ++v) acc[i][0][v] = hn::Zero(f32);
    }
    const size_t column = h * a_.v.head + vec * kLanes;
    const float* p = p_ + r * row_ + h;
    for (size_t j = first; j < end; ++j) {
      const float* from = v_row_[j] + column;
      Vec value[kVecs];
      RAPT_UNROLL for (int v = 0; v < kVecs; ++v) value[v] = hn::LoadU(f32, from + v * kLanes);
      RAPT_UNROLL for (int i = 0; i < kRows; ++i) {
        const Vec weight = hn::Set(f32, p[i * row_ + j * heads_]);
        RAPT_UNROLL for (int v = 0; v < kVecs; ++v) {
          acc[i][0][v] = hn::MulAdd(weight, value[v], acc[i][0][v]);
        }
      }
    }
    RAPT_UNROLL for (int i = 0; i < kRows; ++i) {
      const size_t lane = (r + i) * heads_ + h;
      const Output output{out_of(r + i, h), 0, is_first ? nullptr : state_.decay + lane,
                          is_last ? state_.scale + lane : nullptr};
      output(0, vec, acc[i]);
    }
  }

  void finish(bool no_keys) {
    state_.finish(lanes_);
    for (size_t r = 0; r < rows_; ++r) {
      for (size_t h = 0; h < heads_; ++h) {
        s_.lse[head_of(r, h) * a_.lse_stride + query_of(r)] = state_.max[r * heads_ + h];
        if (no_keys) std::fill_n(out_of(r, h), a_.dim_v, 0.0f);
      }
    }
  }

  const Attention& a_;
  const AttentionSequence& s_;
  PrefetchSlots& ahead_;
  const KeyRange range_;
  const size_t query_, queries_, rows_, heads_;
  const size_t lanes_;  // of all rows, whole vectors
  const size_t row_;    // of P [rows, keys, heads]
  const KeyRows k_, v_;
  Scratch scratch_;
  const SoftmaxState state_;
  float *q_, *p_, *old_, *tile_sum_, *max_;
  const float *k_row_[kKeyTile + kSpare], *v_row_[kKeyTile + kSpare];
};

}  // namespace attn
}  // namespace rapt::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // RAPT_KERNELS_ATTENTION_HEADS_INL_H_

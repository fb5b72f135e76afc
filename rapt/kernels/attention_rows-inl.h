// Few queries of all heads that share one head of K and V: decoding, and the weights themselves.
// Keys are the SIMD lanes of the scores. The bits are those of ForwardTile: each score is the same
// chain over dim, and lanes join the sum as key j mod 8.
#if defined(RAPT_KERNELS_ATTENTION_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RAPT_KERNELS_ATTENTION_ROWS_INL_H_
#undef RAPT_KERNELS_ATTENTION_ROWS_INL_H_
#else
#define RAPT_KERNELS_ATTENTION_ROWS_INL_H_
#endif

#include "rapt/kernels/attention_score-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rapt::kernels::HWY_NAMESPACE {
namespace attn {

// Adds p[j], j = 0, 8, 16, … to chain 0, j = 1, 9, … to chain 1, and so on.
HWY_INLINE float sum_tile(const float* p, size_t count) {
  constexpr size_t kParts = kLanes < 8 ? 2 : 1;  // vectors that hold the eight chains
  const hn::CappedTag<float, 8> eight;
  using Chain = hn::Vec<decltype(eight)>;
  constexpr size_t kWidth = hn::MaxLanes(eight);
  Chain chain[kParts];
  RAPT_UNROLL for (size_t i = 0; i < kParts; ++i) chain[i] = hn::Zero(eight);
  for (size_t j = 0; j < count; j += 8) {
    RAPT_UNROLL for (size_t i = 0; i < kParts; ++i) {
      chain[i] = hn::Add(chain[i], hn::Load(eight, p + j + i * kWidth));
    }
  }
  alignas(32) float c[8];
  RAPT_UNROLL for (size_t i = 0; i < kParts; ++i) hn::Store(chain[i], eight, c + i * kWidth);
  return ((c[0] + c[4]) + (c[2] + c[6])) + ((c[1] + c[5]) + (c[3] + c[7]));
}

class RowsTask {
 public:
  // Queries [query, query + kRowQueries) of the heads that read `kv_head`. With `weights` (the
  // sequence's, head 0) P is written instead of out and lse.
  RowsTask(const Attention& a, const AttentionSequence& s, size_t kv_head, size_t query,
           float* weights, size_t weights_stride, float* memory)
      : a_(a),
        s_(s),
        range_(s),
        head_(kv_head * a.group()),
        query_(query),
        queries_(std::min<size_t>(kRowQueries, s.queries - query)),
        rows_(queries_ * a.group()),
        k_(key_rows(a, s, kv_head)),
        v_(value_rows(a, s, kv_head)),
        weights_(weights),
        weights_stride_(weights_stride),
        width_v_(round_up(a.dim_v, kLanes)),
        scratch_(memory),
        state_(scratch_, round_up(rows_, kLanes)) {
    q_ = scratch_.take(rows_ * a.dim);
    kt_ = scratch_.take(a.dim * kKeyTile);
    p_ = scratch_.take(rows_ * kKeyTile);
    bias_ = scratch_.take(kKeyTile);
    old_ = scratch_.take(round_up(rows_, kLanes));
    tile_sum_ = scratch_.take(round_up(rows_, kLanes));
    v_copy_ = scratch_.take(kKeyTile * width_v_);
    k_copy_ = scratch_.take(a.k_step == 1 ? 0 : kKeyTile * round_up(a.dim, kLanes));
    out_ = scratch_.take(rows_ * width_v_);
  }
  static size_t scratch_floats(const Attention& a) {
    const size_t rows = kRowQueries * a.group(), width_v = round_up(a.dim_v, 16);
    return rows * (a.dim + kKeyTile + width_v) + 6 * round_up(rows, 16) +
           kKeyTile * (a.dim + round_up(a.dim, 16) + width_v + 1) + 16 * 16;
  }

  void run() {
    start();
    const size_t first = range_.first(query_), stop = range_.stop(query_ + queries_ - 1);
    const size_t begin = first < stop ? first / kKeyTile * kKeyTile : stop;
    for (size_t key = begin; key < stop; key += kKeyTile) {
      const size_t end = std::min(stop, key + kKeyTile);
      score(key, end);
      const bool is_first = key == begin, is_last = key + kKeyTile >= stop;
      if (is_last) state_.set_scale(0, round_up(rows_, kLanes), 1.0f);
      if (weights_ != nullptr) {
        for (size_t r = 0; r < rows_; ++r) write_weights(r, key, end, is_last);
        continue;
      }
      const Rows v = stage(v_, key, end, a_.dim_v, a_.dim_v % kLanes != 0, v_copy_);
      product<false>(rows_, width_v_ / kLanes, p_, kKeyTile, v.data, v.stride, end - key,
                     Output{out_, width_v_, is_first ? nullptr : state_.decay,
                            is_last ? state_.scale : nullptr});
    }
    if (weights_ == nullptr) finish();
  }

 private:
  size_t head_of(size_t row) const { return head_ + row / queries_; }
  size_t query_of(size_t row) const { return query_ + row % queries_; }
  float* weights_of(size_t row) const {
    return weights_ + head_of(row) * weights_stride_ + query_of(row) * s_.keys;
  }

  void start() {
    const float factor = a_.scale * kLog2E;
    for (size_t r = 0; r < rows_; ++r) {
      const float* q = s_.q + head_of(r) * a_.q.head + query_of(r) * a_.q.row;
      for (size_t d = 0; d < a_.dim; ++d) q_[r * a_.dim + d] = q[d] * factor;
      const SoftmaxStart start(a_.sink == nullptr ? nullptr : a_.sink + head_of(r));
      state_.max[r] = hn::GetLane(start.max);
      state_.sum[r] = hn::GetLane(start.sum);
      if (weights_ != nullptr) std::fill_n(weights_of(r), s_.keys, 0.0f);
    }
    std::fill_n(out_, weights_ == nullptr ? rows_ * width_v_ : 0, 0.0f);
  }

  // P of all rows against the keys [key, end); the decay and the sums.
  void score(size_t key, size_t end) {
    const size_t keys = end - key, width = round_up(keys, 16);
    if (k_.step != 1) {
      const Rows k = stage(k_, key, end, a_.dim, true, k_copy_);
      pack_transposed(k.data, k.stride, keys, a_.dim, 1.0f, kt_, width, kKeyTile);
    } else if (key >= range_.begin && k_.adjacent(key, end)) {
      pack_transposed(k_.row(key), k_.stride, keys, a_.dim, 1.0f, kt_, width, kKeyTile);
    } else {
      // Keys before the first that exists are hidden below: any row will do.
      const auto at = [&](size_t j) { return k_.row(std::max(key + j, range_.begin)); };
      pack_transposed(at, keys, a_.dim, 1.0f, kt_, width, kKeyTile);
    }
    product<false>(rows_, width / kLanes, q_, a_.dim, kt_, kKeyTile, a_.dim, Store{p_, kKeyTile});
    std::copy_n(state_.max, rows_, old_);
    for (size_t r = 0; r < rows_; ++r) softmax(r, key, end, width);
    state_.advance(round_up(rows_, kLanes), old_, tile_sum_);
  }

  void softmax(size_t r, size_t key, size_t end, size_t width) {
    const F32 f32;
    const I32 i32;
    const size_t query = query_of(r), head = head_of(r), position = s_.query_position + query;
    float* p = p_ + r * kKeyTile;
    if (s_.bias != nullptr) {
      const float* bias = s_.bias + head * a_.bias.head + position * a_.bias.row + range_.base;
      std::copy_n(bias + key, end - key, bias_);
    }
    const Adjust adjust(a_, head, s_.bias != nullptr);
    const Ints first = hn::Set(i32, static_cast<int32_t>(range_.first(query)));
    const Ints stop = hn::Set(i32, static_cast<int32_t>(range_.stop(query)));
    // Coordinate plus this is the offset j - i in absolute positions.
    const Ints to_offset =
        hn::Set(i32, static_cast<int32_t>(range_.base) - static_cast<int32_t>(position));
    Vec top = hn::Set(f32, state_.max[r]);
    for (size_t j = 0; j < width; j += kLanes) {
      const Ints at = iota(static_cast<int64_t>(key + j));
      Vec x = adjust(hn::Load(f32, p + j), bias_ + j, hn::Add(at, to_offset));
      x = hide(x, hn::Or(hn::Lt(at, first), hn::Not(hn::Lt(at, stop))));
      hn::Store(x, f32, p + j);
      top = larger(top, x);
    }
    const Vec max = hn::Ceil(hn::MaxOfLanes(f32, top));
    for (size_t j = 0; j < width; j += kLanes) {
      hn::Store(exp2_nonpositive(hn::Sub(hn::Load(f32, p + j), max)), f32, p + j);
    }
    state_.max[r] = hn::GetLane(max);
    tile_sum_[r] = sum_tile(p, width);
  }

  void write_weights(size_t r, size_t key, size_t end, bool is_last) {
    float* w = weights_of(r);
    const size_t from = std::max(key, range_.begin), count = from - range_.begin;
    for (size_t j = 0; j < count; ++j) w[j] *= state_.decay[r];
    std::copy_n(p_ + r * kKeyTile + (from - key), end - from, w + count);
    if (!is_last) return;
    for (size_t j = 0; j < end - range_.begin; ++j) w[j] *= state_.scale[r];
  }

  void finish() {
    state_.finish(round_up(rows_, kLanes));
    for (size_t r = 0; r < rows_; ++r) {
      const size_t head = head_of(r), query = query_of(r);
      s_.lse[head * a_.lse_stride + query] = state_.max[r];
      std::copy_n(out_ + r * width_v_, a_.dim_v, s_.out + head * a_.out.head + query * a_.out.row);
    }
  }

  const Attention& a_;
  const AttentionSequence& s_;
  const KeyRange range_;
  const size_t head_, query_, queries_, rows_;
  const KeyRows k_, v_;
  float* const weights_;
  const size_t weights_stride_, width_v_;
  Scratch scratch_;
  const SoftmaxState state_;
  float *q_, *kt_, *p_, *bias_, *old_, *tile_sum_, *v_copy_, *k_copy_, *out_;
};

}  // namespace attn
}  // namespace rapt::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // RAPT_KERNELS_ATTENTION_ROWS_INL_H_

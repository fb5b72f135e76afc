// One tile of queries of one head against all keys. Queries are the SIMD lanes of the scores, so
// that the softmax is vertical.
#if defined(RAPT_KERNELS_ATTENTION_FORWARD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RAPT_KERNELS_ATTENTION_FORWARD_INL_H_
#undef RAPT_KERNELS_ATTENTION_FORWARD_INL_H_
#else
#define RAPT_KERNELS_ATTENTION_FORWARD_INL_H_
#endif

#include "rapt/kernels/attention_score-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rapt::kernels::HWY_NAMESPACE {
namespace attn {

// A panel is the part of the tile (1 to kMaxVecs vectors of queries) done at a time. Narrow panels
// waste less along the edge of a band, which is most of the work of short sequences.
inline size_t panel_vecs(const KeyRange& range) {
  return range.has_edge() && range.end <= 1024 ? std::min(2, kMaxVecs) : kMaxVecs;
}

class ForwardTile {
 public:
  // Queries [query, query + rows), at most kQueryTile; `ahead`: what the next task needs.
  ForwardTile(const Attention& a, const AttentionSequence& s, size_t head, size_t query,
              size_t rows, const Prefetch& ahead, float* memory)
      : a_(a),
        s_(s),
        range_(s),
        head_(head),
        query_(query),
        rows_(rows),
        ahead_(ahead),
        vecs_(vectors(rows_)),
        k_(key_rows(a, s, head / a.group())),
        v_(value_rows(a, s, head / a.group())),
        adjust_(a, head, s.bias != nullptr),
        scratch_(memory),
        state_(scratch_, kQueryTile) {
    qt_ = scratch_.take(kQueryTile * a.dim);
    score_ = scratch_.take(kKeyTile * kMaxVecs * kLanes);
    bias_ = scratch_.take(kKeyTile * kMaxVecs * kLanes);
    top_ = scratch_.take(kQueryTile);
    k_copy_ = scratch_.take(kKeyTile * round_up(a.dim, kLanes));
    v_copy_ = scratch_.take(kKeyTile * round_up(a.dim_v, kLanes));
    // Whole vectors let O accumulate where it ends up, unless its rows are far apart.
    float* out = s.out + head * a.out.head + query * a.out.row;
    const bool near = a.out.row == a.dim_v || s.keys <= kKeyTile;
    in_place_ = a.dim_v % kLanes == 0 && near;
    out_ = in_place_ ? out : scratch_.take(kQueryTile * round_up(a.dim_v, kLanes));
    out_stride_ = in_place_ ? a.out.row : round_up(a.dim_v, kLanes);
  }
  static size_t scratch_floats(const Attention& a) {
    const size_t width = round_up(a.dim, 16), width_v = round_up(a.dim_v, 16);
    return kQueryTile * (a.dim + width_v + 5) +
           kKeyTile * (2 * kMaxVecs * kLanes + width + width_v) + 16 * 16;
  }

  void run() {
    const float* q = s_.q + head_ * a_.q.head + query_ * a_.q.row;
    split_vectors(vecs_, panel_vecs(range_), [&](size_t vec, size_t count) HWY_ATTR {
      const size_t first = vec * kLanes, width = count * kLanes;
      pack_transposed(q + first * a_.q.row, a_.q.row, std::min(width, rows_ - first), a_.dim,
                      a_.scale * kLog2E, qt_ + first * a_.dim, width, width);
    });
    state_.start(0, vecs_ * kLanes, a_.sink == nullptr ? nullptr : a_.sink + head_);
    const size_t stop = range_.stop(query_ + rows_ - 1);
    for (size_t key = tile_start(query_); key < stop; key += kKeyTile) {
      const size_t last = std::min(range_.end, key + kKeyTile);
      // One panel reads each row of K once: as well where it is.
      const bool far_k = a_.k.row > 2 * a_.dim && vecs_ > panel_vecs(range_);
      const bool far_v = is_far(a_.v.row, a_.dim_v, last - key);
      const Rows k = stage(k_, key, last, a_.dim, far_k, k_copy_);
      const Rows v = stage(v_, key, last, a_.dim_v, far_v || a_.dim_v % kLanes != 0, v_copy_);
      Prefetch next;
      if (last < stop) {
        next.keys(a_, k_, v_, last, std::min(stop, last + kKeyTile));
      } else {  // the rows of the result, unless they were requested or in use before
        if (key > tile_start(query_) && !in_place_) next.out(a_, s_, head_, query_, rows_);
        next.append(ahead_);
      }
      next.pace(steps(key, last));
      split_vectors(vecs_, panel_vecs(range_), [&](size_t vec, size_t count) HWY_ATTR {
        panel(vec * kLanes, count, key, last, k, v, next);
      });
    }
    finish();
  }

 private:
  // Of the keys [key, last), those that join sums of the queries first, first + 1, … of this tile.
  std::pair<size_t, size_t> seen(size_t first, size_t rows, size_t key, size_t last) const {
    const size_t query = query_ + first;
    return {std::max(key, range_.first_chain(query)),
            std::min(last, range_.stop(query + rows - 1))};
  }
  // Register tiles of both products of all panels with the keys [key, last).
  size_t steps(size_t key, size_t last) const {
    size_t tiles = 0;
    split_vectors(vecs_, panel_vecs(range_), [&](size_t vec, size_t count) {
      const size_t first = vec * kLanes, rows = std::min(count * kLanes, rows_ - first);
      const auto [begin, end] = seen(first, rows, key, last);
      if (begin >= end) return;
      tiles += register_tiles(end - begin, count) + register_tiles(rows, vectors(a_.dim_v));
    });
    return tiles;
  }
  size_t tile_start(size_t query) const { return range_.first(query) / kKeyTile * kKeyTile; }

  // The queries first … of this tile against the keys [key, last).
  void panel(size_t first, size_t vecs, size_t key, size_t last, Rows k, Rows v, Prefetch& ahead) {
    const size_t width = vecs * kLanes, rows = std::min(width, rows_ - first);
    const size_t query = query_ + first, last_query = query + rows - 1;
    const auto [begin, end] = seen(first, rows, key, last);
    if (begin >= end) return;
    const size_t keys = end - begin;
    k = k.from(begin - key);
    v = v.from(begin - key);
    const bool masked = !range_.all(query, last_query, begin, end);
    const bool plain = !masked && !adjust_.any();

    std::copy_n(state_.max + first, width, top_ + first);
    product<false>(keys, vecs, k.data, k.stride, qt_ + first * a_.dim, width, a_.dim,
                   Prefetching{Store{score_, width, plain ? top_ + first : nullptr}, ahead});
    if (s_.bias != nullptr) pack_bias(query, rows, begin, keys, width);
    for (size_t u = 0; u < width; u += kLanes) {
      if (!plain) adjust(u, width, query + u, begin, keys, masked, top_ + first + u);
      softmax(score_ + u, width, query + u, begin, keys, first + u);
    }
    const bool is_first = key == tile_start(query),
               is_last = key + kKeyTile >= range_.stop(last_query);
    if (is_last) state_.set_scale(first, width, a_.dropout.scale());
    const Output output{out_ + first * out_stride_, out_stride_,
                        is_first ? nullptr : state_.decay + first,
                        is_last ? state_.scale + first : nullptr};
    product<true>(rows, vectors(a_.dim_v), score_, width, v.data, v.stride, keys,
                  Prefetching{output, ahead});
  }

  void pack_bias(size_t query, size_t rows, size_t key, size_t keys, size_t width) {
    const size_t row = s_.query_position + query, from = std::max(key, range_.begin);
    const float* bias = s_.bias + head_ * a_.bias.head + row * a_.bias.row + range_.base;
    std::fill_n(bias_, (from - key) * width, 0.0f);
    pack_transposed(bias + from, a_.bias.row, rows, keys - (from - key), 1.0f,
                    bias_ + (from - key) * width, width, width);
  }

  void adjust(size_t u, size_t width, size_t query, size_t key, size_t keys, bool masked,
              float* top) {
    const F32 f32;
    const LaneBand band(range_, query, key);
    Ints offset = lane_offsets(s_, range_, query, key);
    Vec max = hn::Load(f32, top);
    for (size_t j = 0; j < keys; ++j) {
      float* s = score_ + j * width + u;
      Vec x = adjust_(hn::Load(f32, s), bias_ + j * width + u, offset);
      if (masked) x = band(x, j);
      hn::Store(x, f32, s);
      max = larger(max, x);
      offset = hn::Add(offset, hn::Set(I32(), 1));
    }
    hn::Store(max, f32, top);
  }

  // Scores to P, not normalised, in place; sums the tile, rescales the sum of the rows.
  void softmax(float* s, size_t width, size_t query, size_t key, size_t keys, size_t row) {
    const F32 f32;
    const Vec old = hn::Load(f32, state_.max + row), max = hn::Ceil(hn::Load(f32, top_ + row));
    Vec sum[8];
    for_eight([&]<int i>() HWY_ATTR { sum[i] = hn::Zero(f32); });
    if (a_.dropout.on()) {
      dropped_exponentials(s, width, query, key, keys, max, sum);
    } else {
      for (size_t j = 0; j < keys; j += 8, s += 8 * width) {
        for_eight([&]<int i>() HWY_ATTR {
          if (j + i >= keys) return;
          const Vec p = exp2_nonpositive(hn::Sub(hn::Load(f32, s + i * width), max));
          sum[i] = hn::Add(sum[i], p);
          hn::Store(p, f32, s + i * width);
        });
      }
    }
    const Vec decay = exp2_nonpositive(hn::Sub(old, max));
    hn::Store(decay, f32, state_.decay + row);
    hn::Store(max, f32, state_.max + row);
    hn::Store(hn::MulAdd(hn::Load(f32, state_.sum + row), decay, sum_of_chains(sum)), f32,
              state_.sum + row);
  }

  void dropped_exponentials(float* s, size_t width, size_t query, size_t key, size_t keys, Vec max,
                            Vec (&sum)[8]) {
    const F32 f32;
    const uint32_t position = s_.query_position + static_cast<uint32_t>(query);
    for (size_t j = 0; j < keys; j += 8, s += 8 * width) {
      const uint32_t group = (range_.base + static_cast<uint32_t>(key + j)) / 8;
      const Draws draws(a_, s_.id, head_, position, group);
      for_eight([&]<int i>() HWY_ATTR {
        if (j + i >= keys) return;
        const Vec p = exp2_nonpositive(hn::Sub(hn::Load(f32, s + i * width), max));
        sum[i] = hn::Add(sum[i], p);
        hn::Store(draws.apply<i>(p), f32, s + i * width);
      });
    }
  }

  void finish() {
    split_vectors(vecs_, panel_vecs(range_), [&](size_t vec, size_t count) HWY_ATTR {
      const size_t first = vec * kLanes, rows = std::min(count * kLanes, rows_ - first);
      const size_t query = query_ + first;
      if (range_.first(query) < range_.stop(query + rows - 1)) return;
      for (size_t r = first; r < first + rows; ++r) {  // no key reached this panel
        std::fill_n(out_ + r * out_stride_, a_.dim_v, 0.0f);
      }
    });
    state_.finish(vecs_ * kLanes);
    std::copy_n(state_.max, rows_, s_.lse + head_ * a_.lse_stride + query_);
    if (in_place_) return;
    float* out = s_.out + head_ * a_.out.head + query_ * a_.out.row;
    for (size_t r = 0; r < rows_; ++r) {
      std::copy_n(out_ + r * out_stride_, a_.dim_v, out + r * a_.out.row);
    }
  }

  const Attention& a_;
  const AttentionSequence& s_;
  const KeyRange range_;
  const size_t head_, query_, rows_;
  const Prefetch& ahead_;
  const size_t vecs_;
  const KeyRows k_, v_;
  const Adjust adjust_;
  Scratch scratch_;
  const SoftmaxState state_;
  float *qt_, *score_, *bias_, *top_, *k_copy_, *v_copy_, *out_;
  bool in_place_;
  size_t out_stride_;
};

}  // namespace attn
}  // namespace rapt::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // RAPT_KERNELS_ATTENTION_FORWARD_INL_H_

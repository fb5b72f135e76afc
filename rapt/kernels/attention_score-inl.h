// What happens to attention scores between the two products: cap, bias, slope and mask, and the
// random bits of dropout. Scores are in units of log2.
#if defined(RAPT_KERNELS_ATTENTION_SCORE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RAPT_KERNELS_ATTENTION_SCORE_INL_H_
#undef RAPT_KERNELS_ATTENTION_SCORE_INL_H_
#else
#define RAPT_KERNELS_ATTENTION_SCORE_INL_H_
#endif

#include <utility>

#include "rapt/base/philox.h"
#include "rapt/kernels/attention_keys-inl.h"
#include "rapt/kernels/attention_product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rapt::kernels::HWY_NAMESPACE {
namespace attn {

using namespace rapt::kernels::attn;  // NOLINT: the part that does not depend on the target

using I32 = hn::ScalableTag<int32_t>;
using Ints = hn::Vec<I32>;

// hn::Iota goes through the stack, lane by lane.
alignas(64) inline constexpr int32_t kIota[16] = {0, 1, 2,  3,  4,  5,  6,  7,
                                                  8, 9, 10, 11, 12, 13, 14, 15};
HWY_INLINE Ints iota(int64_t first) {
  return hn::Add(hn::Load(I32(), kIota), hn::Set(I32(), static_cast<int32_t>(first)));
}

// cap(x) = c tanh(x / c) and its derivative, by way of the tanh.
struct Softcap {
  Vec inner, outer;  // 1 / c and c, in log2 units
  explicit HWY_INLINE Softcap(float softcap)
      : inner(hn::Set(F32(), 1.0f / (softcap * kLog2E))), outer(hn::Set(F32(), softcap * kLog2E)) {}
  HWY_INLINE Vec tanh(Vec score) const { return HWY_NAMESPACE::tanh(hn::Mul(inner, score)); }
  HWY_INLINE Vec cap(Vec tanh) const { return hn::Mul(outer, tanh); }
  HWY_INLINE Vec slope(Vec tanh) const { return hn::NegMulAdd(tanh, tanh, hn::Set(F32(), 1.0f)); }
};

// The rest: score + bias - slope |i - j|, hidden where the band says so. The lanes are queries of
// one key, or keys of one query.
class Adjust {
 public:
  Adjust(const Attention& a, size_t head, bool bias)
      : has_cap_(a.softcap != 0.0f),
        has_bias_(bias),
        has_slope_(a.slopes != nullptr),
        cap_(a.softcap),
        slope_(hn::Set(F32(), has_slope_ ? -a.slopes[head] * kLog2E : 0.0f)) {}

  bool any() const { return has_cap_ || has_bias_ || has_slope_; }
  // `bias` points to the lanes' biases; offset = j - i in absolute positions.
  HWY_INLINE Vec operator()(Vec score, const float* bias, Ints offset) const {
    const F32 f32;
    if (has_cap_) score = cap_.cap(cap_.tanh(score));
    if (has_bias_) score = hn::MulAdd(hn::LoadU(f32, bias), hn::Set(f32, kLog2E), score);
    if (has_slope_) {
      score = hn::MulAdd(slope_, hn::Abs(hn::ConvertTo(f32, offset)), score);
    }
    return score;
  }

 private:
  bool has_cap_, has_bias_, has_slope_;
  Softcap cap_;
  Vec slope_;
};

HWY_INLINE Vec hide(Vec score, hn::Mask<I32> hidden) {
  return hn::IfThenElse(hn::RebindMask(F32(), hidden), hn::Set(F32(), kHidden), score);
}

inline int32_t clip(int64_t x) {
  return static_cast<int32_t>(std::clamp<int64_t>(x, -(1 << 30), 1 << 30));
}

// The visible keys of the queries in the lanes, counted from key0.
struct LaneBand {
  Ints first, last;
  HWY_INLINE LaneBand(const KeyRange& range, size_t query, size_t key0) {
    const int64_t q = static_cast<int64_t>(query), k = static_cast<int64_t>(key0);
    const I32 i32;
    const int32_t begin = clip(static_cast<int64_t>(range.begin) - k);
    first = hn::Max(iota(clip(q + range.low - k)), hn::Set(i32, begin));
    last = iota(clip(q + range.high - k));
  }
  HWY_INLINE Vec operator()(Vec score, size_t key) const {
    const auto j = hn::Set(I32(), static_cast<int32_t>(key));
    return hide(score, hn::Or(hn::Lt(j, first), hn::Gt(j, last)));
  }
};

// j - i in absolute positions of key `key` and the queries in the lanes.
HWY_INLINE Ints lane_offsets(const AttentionSequence& s, const KeyRange& range, size_t query,
                             size_t key) {
  const int64_t distance = int64_t{range.base} + static_cast<int64_t>(key) -
                           static_cast<int64_t>(s.query_position + query);
  return hn::Sub(hn::Set(I32(), static_cast<int32_t>(distance)), iota(0));
}

// The draws of eight keys for the queries in the lanes (draw16 of rapt/base/philox.h).
class Draws {
 public:
  HWY_INLINE Draws(const Attention& a, uint64_t id, size_t head, uint32_t query, uint32_t group) {
    const U32 u32;
    const PhiloxBlock c = draw_counter(group, {id, query}, static_cast<uint32_t>(head));
    const auto queries = hn::BitCast(u32, iota(query));
    V even[4], odd[4];
    even[0] = odd[0] = hn::Set(u32, c[0]);
    even[1] = queries;
    odd[1] = hn::BitCast(u32, hn::ShiftRight<32>(hn::BitCast(U64(), queries)));
    even[2] = odd[2] = hn::Set(u32, c[2]);
    even[3] = odd[3] = hn::Set(u32, c[3]);
    uint32_t k0 = static_cast<uint32_t>(a.dropout_key);
    uint32_t k1 = static_cast<uint32_t>(a.dropout_key >> 32);
    RAPT_UNROLL for (int i = 0; i < kPhiloxRounds; ++i, k0 += kPhiloxW0, k1 += kPhiloxW1) {
      round(even, k0, k1);
      round(odd, k0, k1);
    }
    RAPT_UNROLL for (int i = 0; i < 4; ++i) {
      const auto high = hn::BitCast(u32, hn::ShiftLeft<32>(hn::BitCast(U64(), odd[i])));
      word_[i] = hn::BitCast(I32(), hn::OddEven(high, even[i]));
    }
    limit_ = hn::Set(I32(), static_cast<int32_t>((a.dropout.n - 32768u) << 16));
  }
  // x where key kKey of the eight is kept, else 0.
  template <int kKey>
  HWY_INLINE Vec apply(Vec x) const {
    auto draw = word_[kKey / 2];
    if constexpr (kKey % 2 == 0) draw = hn::ShiftLeft<16>(draw);
    return hn::IfThenZeroElse(hn::RebindMask(F32(), hn::Lt(draw, limit_)), x);
  }

 private:
  using U32 = hn::ScalableTag<uint32_t>;
  using U64 = hn::RepartitionToWide<U32>;
  using V = hn::Vec<U32>;
  // Each word sits in the low half of a 64-bit lane; the high half is ignored by MulEven.
  static HWY_INLINE void round(V (&c)[4], uint32_t k0, uint32_t k1) {
    const U32 u32;
    const auto p0 = hn::MulEven(hn::Set(u32, kPhiloxM0), c[0]);
    const auto p1 = hn::MulEven(hn::Set(u32, kPhiloxM1), c[2]);
    // The shuffle brings the high half down; it runs beside the products, a shift would not.
    c[0] = hn::Xor3(hn::Shuffle2301(hn::BitCast(u32, p1)), c[1], hn::Set(u32, k0));
    c[2] = hn::Xor3(hn::Shuffle2301(hn::BitCast(u32, p0)), c[3], hn::Set(u32, k1));
    c[1] = hn::BitCast(u32, p1);
    c[3] = hn::BitCast(u32, p0);
  }
  Ints word_[4], limit_;
};

// f.operator()<0>() … f.operator()<7>(): the eight keys of a group, unrolled.
template <class F>
HWY_INLINE void for_eight(const F& f) {
  [&]<int... kKey>(std::integer_sequence<int, kKey...>) HWY_ATTR {
    (f.template operator()<kKey>(), ...);
  }
  (std::make_integer_sequence<int, 8>());
}

// Rows of K or V in coordinates [key, last) as they are in memory, or a copy padded with zeros to
// whole vectors: if asked for, if slots scatter them, if their heads are interleaved, or if some
// before the first do not exist.
inline Rows stage(const KeyRows& rows, size_t key, size_t last, size_t dim, bool copy, float* out) {
  const size_t width = round_up(dim, kLanes), first = std::max(key, rows.begin);
  if (!copy && key == first && rows.adjacent(first, last)) return {rows.row(key), rows.stride};
  std::fill_n(out, (first - key) * width, 0.0f);
  for (size_t j = first; j < last; ++j) {
    copy_row(rows.row(j), rows.step, dim, out + (j - key) * width, width);
  }
  return {out, width};
}

// Maximum and sum before the first key. A sink is a key without a value, seen before all others.
struct SoftmaxStart {
  Vec max = hn::Set(F32(), kFloor), sum = hn::Zero(F32());
  explicit HWY_INLINE SoftmaxStart(const float* sink) {
    if (sink == nullptr) return;
    const Vec logit = hn::Set(F32(), *sink * kLog2E);
    max = hn::Ceil(logit);
    sum = exp2_nonpositive(hn::Sub(logit, max));
  }
};

// The sum of a tile from its eight chains.
template <class V>
HWY_INLINE V sum_of_chains(const V (&chain)[8]) {
  const V even = hn::Add(hn::Add(chain[0], chain[4]), hn::Add(chain[2], chain[6]));
  const V odd = hn::Add(hn::Add(chain[1], chain[5]), hn::Add(chain[3], chain[7]));
  return hn::Add(even, odd);
}

// The online softmax over the rows of a task: what they have seen so far.
struct SoftmaxState {
  float *max, *sum, *decay, *scale;
  SoftmaxState(Scratch& scratch, size_t rows)
      : max(scratch.take(rows)),
        sum(scratch.take(rows)),
        decay(scratch.take(rows)),
        scale(scratch.take(rows)) {}
  // `row` and `rows` are whole vectors, here and below.
  void start(size_t row, size_t rows, const float* sink) const {
    const SoftmaxStart start(sink);
    for (size_t r = row; r < row + rows; r += kLanes) {
      hn::Store(start.max, F32(), max + r);
      hn::Store(start.sum, F32(), sum + r);
    }
  }
  // After a tile: the decay from the maxima before it, and the sums, with those of the tile.
  void advance(size_t rows, const float* old_max, const float* tile_sum) const {
    const F32 f32;
    for (size_t r = 0; r < rows; r += kLanes) {
      const Vec d = exp2_nonpositive(hn::Sub(hn::Load(f32, old_max + r), hn::Load(f32, max + r)));
      hn::Store(d, f32, decay + r);
      hn::Store(hn::MulAdd(hn::Load(f32, sum + r), d, hn::Load(f32, tile_sum + r)), f32, sum + r);
    }
  }
  // 1 / sum times the dropout scale; 0 for a row without keys. NaN survives the comparison.
  void set_scale(size_t row, size_t rows, float keep) const {
    const F32 f32;
    for (size_t r = row; r < row + rows; r += kLanes) {
      const Vec x = hn::Load(f32, sum + r);
      const Vec inverse = hn::Div(hn::Set(f32, keep), x);
      hn::Store(hn::IfThenZeroElse(hn::Eq(x, hn::Zero(f32)), inverse), f32, scale + r);
    }
  }
  // lse = max + log2 sum, in place of max; -inf for a row without keys.
  void finish(size_t rows) const {
    for (size_t r = 0; r < rows; r += kLanes) {
      const Vec lse = hn::Add(hn::Load(F32(), max + r), log2(hn::Load(F32(), sum + r)));
      hn::Store(lse, F32(), max + r);
    }
  }
};

}  // namespace attn
}  // namespace rapt::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // RAPT_KERNELS_ATTENTION_SCORE_INL_H_

// The dropout factors of a row, for one SIMD target: neighbouring columns of one row are the draws.
#if defined(RAPT_KERNELS_DROPOUT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RAPT_KERNELS_DROPOUT_INL_H_
#undef RAPT_KERNELS_DROPOUT_INL_H_
#else
#define RAPT_KERNELS_DROPOUT_INL_H_
#endif

#include <cstdint>

#include "rapt/kernels/dropout.h"
#include "rapt/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rapt::kernels::HWY_NAMESPACE {
namespace philox {

using U32 = hn::ScalableTag<uint32_t>;
using U64 = hn::RepartitionToWide<U32>;
using Words = hn::Vec<U32>;

// The keys of the rounds, in memory: read by the instruction that needs them, they take no register.
struct Keys {
  explicit HWY_INLINE Keys(uint64_t key) {
    uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
    for (int i = 0; i < kPhiloxRounds; ++i, k0 += kPhiloxW0, k1 += kPhiloxW1) {
      of[i][0] = hn::Set(U32(), k0);
      of[i][1] = hn::Set(U32(), k1);
    }
  }
  Words of[kPhiloxRounds][2];
};

// Each word sits in the low half of a 64-bit lane; MulEven ignores the high half.
HWY_INLINE void round(Words (&c)[4], const Words (&key)[2]) {
  const U32 u32;
  const Words p0 = hn::BitCast(u32, hn::MulEven(hn::Set(u32, kPhiloxM0), c[0]));
  const Words p1 = hn::BitCast(u32, hn::MulEven(hn::Set(u32, kPhiloxM1), c[2]));
  // The shuffle brings the high half down; it runs beside the products, a shift would not. Only it
  // waits for them: the keys join the other words meanwhile.
  c[0] = hn::Xor(hn::Shuffle2301(p1), hn::Xor(c[1], key[0]));
  c[2] = hn::Xor(hn::Shuffle2301(p0), hn::Xor(c[3], key[1]));
  c[1] = p1;
  c[3] = p0;
}

// How many vectors of groups are drawn at once. A round waits for the one before: the CPU has time
// for a second one meanwhile, but 16 registers do not hold both.
inline constexpr size_t kAtOnce = HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM_A64 ? 2 : 1;

// The draws of K * kLanes groups of eight columns, in order of columns.
template <size_t K>
HWY_INLINE void draw(const Keys& keys, RowKey key, uint32_t group, int16_t* draws) {
  const U32 u32;
  Words even[K][4], odd[K][4];
  HWY_UNROLL(2) for (size_t k = 0; k < K; ++k) {
    const PhiloxBlock counter = draw_counter(group, key);
    HWY_UNROLL(4) for (size_t i = 0; i < 4; ++i) even[k][i] = odd[k][i] = hn::Set(u32, counter[i]);
    even[k][0] = hn::Add(even[k][0], hn::Iota(u32, static_cast<uint32_t>(k * row::kLanes)));
    odd[k][0] = hn::BitCast(u32, hn::ShiftRight<32>(hn::BitCast(U64(), even[k][0])));
  }
  HWY_UNROLL(10) for (int i = 0; i < kPhiloxRounds; ++i) {
    HWY_UNROLL(2) for (size_t k = 0; k < K; ++k) {
      round(even[k], keys.of[i]);
      round(odd[k], keys.of[i]);
    }
  }
  HWY_UNROLL(2) for (size_t k = 0; k < K; ++k) {
    Words word[4];
    HWY_UNROLL(4) for (size_t i = 0; i < 4; ++i) {
      const Words high = hn::BitCast(u32, hn::ShiftLeft<32>(hn::BitCast(U64(), odd[k][i])));
      word[i] = hn::OddEven(high, even[k][i]);
    }
    // Word w of a group holds its columns 2 w and 2 w + 1, the lower half first.
    hn::StoreInterleaved4(word[0], word[1], word[2], word[3], u32,
                          reinterpret_cast<uint32_t*>(draws + 8 * k * row::kLanes));
  }
}

}  // namespace philox

// The factors m of a row: 0 or 1 / (1 - p).
class DropoutFactors {
 public:
  HWY_INLINE DropoutFactors(const int16_t* draws, DropRate rate)
      : draws_(draws),
        limit_(hn::Set(I32(), static_cast<int32_t>(rate.n) - 32768)),
        scale_(hn::Set(F32(), rate.scale())) {}
  HWY_INLINE Vec vector(size_t i) const {
    const hn::Rebind<int16_t, F32> half;
    const auto draw = hn::PromoteTo(I32(), hn::LoadU(half, draws_ + i));
    return hn::IfThenZeroElse(hn::RebindMask(F32(), hn::Lt(draw, limit_)), scale_);
  }

 private:
  using I32 = hn::ScalableTag<int32_t>;
  const int16_t* draws_;
  hn::Vec<I32> limit_;
  Vec scale_;
};

// A row of one value.
struct Constant {
  float value;
  HWY_INLINE Vec vector(size_t) const { return hn::Set(F32(), value); }
};

// f(r, factors) for those rows of [begin, end) that pick(r) takes; they have n columns. scratch:
// dropout_scratch(n) floats.
template <class Pick, class F>
HWY_INLINE void for_rows(const RowDropout& dropout, size_t begin, size_t end, size_t n,
                         float* scratch, const Pick& pick, const F& f) {
  if (!dropout.on()) {
    for (size_t r = begin; r < end; ++r) {
      if (pick(r)) f(r, Constant{1.0f});
    }
    return;
  }
  auto* draws = reinterpret_cast<int16_t*>(scratch);
  const philox::Keys keys(dropout.key);
  dropout.rows->for_each_key(begin, end, [&](size_t r, RowKey row) HWY_ATTR {
    if (!pick(r)) return;
    constexpr size_t kColumns = 8 * row::kLanes;
    size_t c = 0;
    for (; c + (philox::kAtOnce - 1) * kColumns < n; c += philox::kAtOnce * kColumns) {
      philox::draw<philox::kAtOnce>(keys, row, static_cast<uint32_t>(c / 8), draws + c);
    }
    if (c < n) philox::draw<1>(keys, row, static_cast<uint32_t>(c / 8), draws + c);
    f(r, DropoutFactors(draws, dropout.rate));
  });
}

template <class F>
HWY_INLINE void for_each_row(const RowDropout& dropout, size_t begin, size_t end, size_t n,
                             float* scratch, const F& f) {
  for_rows(
      dropout, begin, end, n, scratch, [](size_t) { return true; }, f);
}

}  // namespace rapt::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // RAPT_KERNELS_DROPOUT_INL_H_

#include "rapt/kernels/additive_score.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rapt/kernels/additive_score.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "rapt/kernels/simd-inl.h"
#include "rapt/kernels/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rapt::kernels::HWY_NAMESPACE {

void Scores(const AdditiveScore& head, MatrixView<float> scores) {
  const auto term = [](Vec a, Vec b, Vec v) HWY_ATTR { return hn::Mul(v, tanh(hn::Add(a, b))); };
  for (size_t i = 0; i < scores.rows(); ++i) {
    for (size_t j = 0; j < scores.cols(); ++j) {
      scores.row(i)[j] = sum_of(term, head.queries.row(i), head.keys.row(j), head.v);
    }
  }
}

// Adds to the gradients.
void ScoresBackward(const AdditiveScore& head, const AdditiveScoreGrad& grad) {
  for (size_t i = 0; i < grad.dscores.rows(); ++i) {
    for (size_t j = 0; j < grad.dscores.cols(); ++j) {
      const float ds = grad.dscores.row(i)[j];
      if (ds == 0) continue;  // hidden by a mask
      const Vec d = hn::Set(F32(), ds);
      const auto add = [&](Vec a, Vec b, Vec v, Vec da, Vec db, Vec dv) HWY_ATTR {
        const Vec t = tanh(hn::Add(a, b)), dt = hn::Mul(d, v);
        const Vec inner = hn::NegMulAdd(hn::Mul(t, t), dt, dt);
        return std::array{hn::Add(da, inner), hn::Add(db, inner), hn::MulAdd(d, t, dv)};
      };
      const std::span<float> da = grad.dqueries.row(i), db = grad.dkeys.row(j);
      map(add, std::array{da, db, grad.dv}, head.queries.row(i), head.keys.row(j), head.v, da, db,
          grad.dv);
    }
  }
}

}  // namespace rapt::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rapt::kernels {

HWY_EXPORT(Scores);
HWY_EXPORT(ScoresBackward);

namespace {
void clear(MatrixView<float> x) {
  for (size_t r = 0; r < x.rows(); ++r) std::ranges::fill(x.row(r), 0.0f);
}
}  // namespace

void additive_score(std::span<const AdditiveScore> heads, std::span<const MatrixView<float>> scores,
                    Pool& pool) {
  pool.run(heads.size(), [&](size_t i) { HWY_DYNAMIC_DISPATCH(Scores)(heads[i], scores[i]); });
}

void additive_score_backward(std::span<const AdditiveScore> heads,
                             std::span<const AdditiveScoreGrad> grads, size_t group, Pool& pool) {
  pool.run(heads.size() / group, [&](size_t task) {
    clear(grads[task * group].dkeys);
    for (size_t i = task * group; i < (task + 1) * group; ++i) {
      clear(grads[i].dqueries);
      std::ranges::fill(grads[i].dv, 0.0f);
      HWY_DYNAMIC_DISPATCH(ScoresBackward)(heads[i], grads[i]);
    }
  });
}

}  // namespace rapt::kernels
#endif  // HWY_ONCE

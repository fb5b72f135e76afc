#include "rapt/insight/residual_measure.h"

#include <cmath>

#include "rapt/insight/draws.h"
#include "rapt/insight/residual_fit.h"

namespace rapt::insight {
namespace {

constexpr size_t kWidth = 128;                  // of the chain of vectors
constexpr uint64_t kProbe = uint64_t{1} << 30;  // the first of sentences that no training reaches

void look_at_untrained(ResidualMeasurements& m, const ResidualOptions& o, const Setting& s) {
  const TaskBatch batch = task_batch(o.training, s.seed, kProbe, o.probe_sentences);
  s.pool.run(kResiduals.size(), [&](size_t i) {
    const auto model = residual_model(o.training, kResiduals[i], o.layers, s.seed);
    const StackView view = view_stack(*model, batch, s.pool);
    m.gradient[i] = gradient_norms(view);
    const double last = m.gradient[i].back();
    for (double& v : m.gradient[i]) v = std::isfinite(v / last) ? v / last : INFINITY;
    m.recovered[i] = recovered_input(view);
    m.alike[i] = likeness(view, batch.sentences);
    if (kResiduals[i] == Residual::kPost) m.post = gradient_parts(view);
    if (kResiduals[i] == Residual::kPre) m.pre = gradient_parts(view);
  });
}

void fit_all(ResidualMeasurements& m, const ResidualOptions& o, const Setting& s) {
  const FitOptions options{.steps = o.fit_steps, .change = o.change};
  const std::array curves = {&m.direct, &m.residual, &m.mirror_direct, &m.mirror_residual};
  s.pool.run(curves.size(), [&](size_t i) {
    *curves[i] = fit(options, i < 2 ? 1 : -1, /*residual=*/i % 2 == 1, s.seed, s.pool);
  });
}

void look_at_trained(ResidualMeasurements& m, const ResidualOptions& o, const Setting& s) {
  const TaskBatch batch = task_batch(o.training, s.seed, kProbe, o.probe_sentences);
  s.pool.run(m.ratios.size(), [&](size_t i) {
    const Residual kind = i == 0 ? Residual::kPost : Residual::kPre;
    const auto model = residual_model(o.training, kind, o.trained_layers, s.seed);
    m.trained_loss[i] = train(*model, o.training, s.seed, s.pool).end();
    m.ratios[i] = branch_ratios(view_stack(*model, batch, s.pool));
  });
}

}  // namespace

ResidualMeasurements measure(const ResidualOptions& o, const Setting& s) {
  ResidualMeasurements m;
  m.slopes = {-o.factor, o.factor, 1, 1 / o.factor};
  const uint64_t key = draw_key(s.seed, "residual.chain");
  for (const double slope : m.slopes) m.numbers.push_back(number_chain(slope, o.layers));
  m.vectors.resize(m.slopes.size());
  s.pool.run(m.slopes.size(),
             [&](size_t i) { m.vectors[i] = vector_chain(m.slopes[i], o.layers, kWidth, key); });
  look_at_untrained(m, o, s);
  fit_all(m, o, s);
  look_at_trained(m, o, s);
  return m;
}

}  // namespace rapt::insight

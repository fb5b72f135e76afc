#include "rapt/nn/mixture_of_experts.h"

#include "rapt/ops/gather_rows.h"
#include "rapt/ops/linear.h"
#include "rapt/ops/mixture_of_experts.h"
#include "rapt/ops/softmax.h"

namespace rapt::nn {

MixtureOfExperts::MixtureOfExperts(const Scope& scope, const LayerOptions& options)
    : Module(scope, "MixtureOfExperts", concat("top_k=", options.experts_top_k)),
      gate_((scope / "gate").weight("weight", options.experts, options.d_model, Init::xavier())),
      top_k_(options.experts_top_k),
      load_name_((scope / "load").name()) {
  const Scope list = scope / "experts";
  list.describe("List");
  experts_.reserve(options.experts);
  for (size_t e = 0; e < options.experts; ++e) {
    experts_.emplace_back(list / std::to_string(e), options);
  }
}

Var MixtureOfExperts::operator()(Context& ctx, const Var& x, const Lengths& sentences) const {
  if (x.rows() == 0) return x;  // nobody to ask
  const Var scores = ops::linear(ctx, x, gate_, nullptr);
  const ops::TopK chosen = ops::top_k(ctx, scores, top_k_);
  const ops::Dispatch dispatch(chosen, experts_.size());
  if (ctx.records() || ctx.observed()) judge(ctx, scores, dispatch.load(ctx));

  std::vector<Var> outputs(experts_.size());
  for (size_t e = 0; e < experts_.size(); ++e) {
    const std::span<const int32_t> rows = dispatch.rows(e);
    if (rows.empty()) continue;
    outputs[e] = experts_[e](ctx, ops::gather_rows(ctx, x, rows), sentences.rows_of(rows));
  }
  return ops::combine(ctx, outputs, dispatch, ops::softmax(ctx, chosen.values));
}

void MixtureOfExperts::judge(Context& ctx, const Var& scores, const Tensor& load) const {
  ctx.watch(load_name_, load);
  if (!ctx.records()) return;
  const Var balance = ops::expert_balance(ctx, ops::softmax(ctx, scores), load);
  ctx.add_loss({scope().name(), balance, load});
}

}  // namespace rapt::nn

#include "rapt/train/stepper.h"

#include <algorithm>
#include <cmath>

namespace rapt {
namespace {

bool is_finite(const Tensor& x) {
  return std::ranges::all_of(x.span(), [](float v) { return std::isfinite(v); });
}

ops::LossOptions loss_options(const TrainOptions& options) {
  return {.smoothing = static_cast<float>(options.label_smoothing), .formula = options.smoothing};
}

}  // namespace

Stepper::Stepper(Transformer& model, const TrainOptions& options, Pool& pool, MemoryPool& memory)
    : model_(model),
      options_(options),
      pool_(pool),
      ctx_(Mode::kTraining, pool, options.seed, 0, memory),
      gradient_(model.parameters(), memory),
      optimizer_(model.parameters(), options, memory) {}

void Stepper::compute(Context& ctx, const Update& update, StepResult& result) {
  const float share = 1.0f / static_cast<float>(update.target_tokens);
  gradient_.run(ctx, update.shards.size(), [&](size_t s) {
    const Shard& shard = update.shards[s];
    const auto loss =
        model_.loss(ctx, shard, loss_options(options_), static_cast<float>(options_.balance));
    add_experts(
        result.experts, ctx.side_losses(),
        static_cast<double>(shard.target.rows()) / static_cast<double>(update.target_tokens));
    result.nll += static_cast<double>(loss.nll.host()[0]);
    result.objective += static_cast<double>(loss.objective.value().host()[0]);
    ctx.backward(loss.objective, share);
    if (!result.fault) result.fault = ctx.first_non_finite();
  });
}

StepResult Stepper::run(const Update& update, uint64_t step, uint64_t applied, double lr) {
  StepResult result;
  ctx_.clear(step);
  compute(ctx_, update, result);
  result.grad_norm = norm_of(gradient_.total(), pool_);
  if (!std::isfinite(result.objective) || !std::isfinite(result.grad_norm)) {
    result.fault = fault_of(update, step, result);
    gradient_.clear(pool_);
    return result;
  }
  optimizer_.update(gradient_.total(), result.grad_norm, lr, applied, pool_);
  ctx_.commit();
  return result;
}

// The same bits again, with every result searched.
std::string Stepper::fault_of(const Update& update, uint64_t step, const StepResult& result) {
  gradient_.clear(pool_);
  Context checked(Mode::kTraining, pool_, options_.seed, step, ctx_.memory());
  checked.set_checked(true);
  StepResult again;
  compute(checked, update, again);
  const std::string first = again.fault ? ", first made by " + *again.fault : "";
  const ParameterSet& parameters = model_.parameters();
  std::string blamed = "every parameter and its gradient are finite";
  for (size_t i = parameters.size(); i-- > 0;) {
    if (!is_finite(gradient_.total()[i])) blamed = "gradient of " + parameters[i].name;
  }
  for (size_t i = parameters.size(); i-- > 0;) {
    if (!is_finite(parameters[i].value)) blamed = "value of " + parameters[i].name;
  }
  return concat(std::isfinite(result.objective) ? "the gradient" : "the loss", " is not finite",
                first, "; first parameter: ", blamed);
}

}  // namespace rapt

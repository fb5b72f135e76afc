#include "rapt/ops/mixture_of_experts.h"

#include "rapt/kernels/mixture_of_experts.h"

namespace rapt::ops {
namespace {

// Where the rows of `places` are: those of matrices with d columns, one an expert.
template <class Matrix>
void locate(std::span<const Dispatch::Place> places, std::span<const Matrix> matrices, size_t d,
            std::span<float*> rows) {
  for (size_t i = 0; i < places.size(); ++i) {
    rows[i] = matrices[places[i].expert].data() + places[i].row * d;
  }
}

}  // namespace

TopK top_k(Context& ctx, const Var& x, size_t k) {
  check(k >= 1 && k <= x.cols(), "top_k: k is ", k, ", x is ", x.shape());
  const Buffer<int32_t> index = ctx.buffer<int32_t>(x.rows() * k);
  const Tensor values = ctx.empty({x.rows(), k});
  kernels::top_k(x.matrix(), values.matrix(), index.span(), ctx.pool());
  const Var y = ctx.record("top_k", values, [x = x.place(), index](const Tensor& dy, Grads& grads) {
    const Tensor dx = grads.empty(x);
    kernels::top_k_backward(dy.matrix(), index.span(), dx.matrix(), grads.pool());
    grads.add(x, dx);
  });
  return {y, index, k};
}

Dispatch::Dispatch(const TopK& chosen, size_t experts) : k_(chosen.k), rows_(experts) {
  places_.reserve(chosen.index.size());
  for (size_t i = 0; i < chosen.index.size(); ++i) {
    const auto expert = static_cast<uint32_t>(chosen.index[i]);
    std::vector<int32_t>& rows = rows_[expert];
    places_.push_back({expert, static_cast<uint32_t>(rows.size())});
    rows.push_back(static_cast<int32_t>(i / k_));
  }
}

Tensor Dispatch::load(const Context& ctx) const {
  const Tensor load = ctx.empty({experts()});
  const auto all = static_cast<double>(places_.size());
  for (size_t e = 0; e < experts(); ++e) {
    load.span()[e] =
        places_.empty() ? 0.0f : static_cast<float>(static_cast<double>(rows_[e].size()) / all);
  }
  return load;
}

Var combine(Context& ctx, std::span<const Var> outputs, const Dispatch& dispatch,
            const Var& weights) {
  const std::span<const Dispatch::Place> places = dispatch.places();
  check(outputs.size() == dispatch.experts(), "combine: outputs of ", outputs.size(),
        " experts, expected ", dispatch.experts());
  check(weights.cols() == dispatch.k() && weights.size() == places.size(), "combine: weights are ",
        weights.shape(), ", expected ", dispatch.k(), " for each of ", places.size() / dispatch.k(),
        " rows");
  size_t d = 0;
  for (size_t e = 0; e < outputs.size(); ++e) {
    if (dispatch.rows(e).empty()) continue;
    if (d == 0) d = outputs[e].cols();
    const Shape expected = {dispatch.rows(e).size(), d};
    check(outputs[e].shape() == expected, "combine: output ", e, " is ", outputs[e].shape(),
          ", expected ", expected);
  }

  const Tensor y = ctx.empty({weights.rows(), d});
  const Buffer<float*> rows = ctx.buffer<float*>(places.size());
  locate(places, outputs, d, rows.span());
  kernels::combine(rows.span(), weights.matrix(), y.matrix(), ctx.pool());

  return ctx.record("combine", y,
                    [=, outputs = std::vector<Var>(outputs.begin(), outputs.end()),
                     places = std::vector<Dispatch::Place>(places.begin(), places.end())](
                        const Tensor& dy, Grads& grads) {
                      std::vector<Tensor> gradients(outputs.size());
                      for (size_t e = 0; e < outputs.size(); ++e) {
                        if (outputs[e].size() > 0) gradients[e] = grads.empty(outputs[e]);
                      }
                      const Buffer<float*> to = grads.buffer<float*>(places.size());
                      locate(places, std::span<const Tensor>(gradients), d, to.span());
                      const Tensor dweights = grads.empty(weights);
                      kernels::combine_backward(rows.span(), weights.matrix(), dy.matrix(),
                                                to.span(), dweights.matrix(), grads.pool());
                      for (size_t e = 0; e < outputs.size(); ++e) {
                        if (!gradients[e].empty()) grads.add(outputs[e], gradients[e]);
                      }
                      grads.add(weights, dweights);
                    });
}

Var expert_balance(Context& ctx, const Var& p, const Tensor& load) {
  check(load.shape() == Shape{p.cols()}, "expert_balance: load is ", load.shape(), ", expected ",
        Shape{p.cols()});
  const Tensor y = ctx.empty({}), partial = ctx.empty({row_block_count(p.rows()), p.cols()});
  *y.data() = kernels::expert_balance(p.matrix(), load.span(), partial.matrix(), ctx.pool());
  return ctx.record("expert_balance", y, [p = p.place(), load](const Tensor& dy, Grads& grads) {
    const Tensor dp = grads.empty(p);
    kernels::expert_balance_backward(load.span(), *dy.data(), dp.matrix(), grads.pool());
    grads.add(p, dp);
  });
}

}  // namespace rapt::ops

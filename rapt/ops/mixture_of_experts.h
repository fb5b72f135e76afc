// The parts of a mixture of experts (docs/math/mixture_of_experts.md): which experts a row takes,
// the weighted sum of what they give, and how evenly they are chosen.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "rapt/autograd/context.h"

namespace rapt::ops {

// Of each row the k largest values, by index; of equal ones those with the lower index. A NaN counts
// as the largest, so that it is seen.
struct TopK {
  Var values;             // [rows, k]
  Buffer<int32_t> index;  // rows * k, ascending in a row
  size_t k = 0;
};
// x [rows, n], 1 <= k <= n, else InvalidArgument.
TopK top_k(Context& ctx, const Var& x, size_t k);

// The rows of each expert, in order of rows, and where a row's results are.
class Dispatch {
 public:
  struct Place {
    uint32_t expert, row;  // the row of that expert's output
  };

  Dispatch(const TopK& chosen, size_t experts);
  size_t experts() const { return rows_.size(); }
  size_t k() const { return k_; }
  std::span<const int32_t> rows(size_t expert) const { return rows_[expert]; }
  std::span<const Place> places() const { return places_; }  // k to a row, experts ascending
  Tensor load(const Context& ctx) const;                     // [experts]: shares of all choices

 private:
  size_t k_;
  std::vector<std::vector<int32_t>> rows_;
  std::vector<Place> places_;
};

// y[r] = sum over the k places of row r, in order, of weights[r, i] * outputs[expert][row].
// outputs[e] [dispatch.rows(e).size(), d], empty where nothing was sent; weights [rows, k].
Var combine(Context& ctx, std::span<const Var> outputs, const Dispatch& dispatch,
            const Var& weights);

// N sum over experts of load[e] * mean over rows of p[r, e], a scalar: 1 when p and load are even.
// p [rows, N]; load [N] is counted, and has no gradient.
Var expert_balance(Context& ctx, const Var& p, const Tensor& load);

}  // namespace rapt::ops

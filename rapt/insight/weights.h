// Attention weights of one query, in double: for experiments on what scaling does to them.
#pragma once
#include <span>
#include <vector>

namespace rapt::insight {

// p_i = exp(s_i - max) / sum
std::vector<double> softmax(std::span<const double> scores);

// -sum p ln p, where 0 ln 0 = 0
double entropy(std::span<const double> p);

// Half the sum of |p_i - q_i|: the share of weight that has moved.
double moved(std::span<const double> p, std::span<const double> q);

}  // namespace rapt::insight

#include "rapt/insight/position_wise.h"

#include <algorithm>
#include <cstring>

#include "rapt/insight/draws.h"
#include "rapt/insight/linearity.h"

namespace rapt::insight {
namespace {

// Rows i of x at places p[i].
Tensor permuted(const Tensor& x, std::span<const size_t> p) {
  const Tensor y = x.clone();
  for (size_t i = 0; i < p.size(); ++i) {
    std::ranges::copy(x.matrix().row(i), y.matrix().row(p[i]).begin());
  }
  return y;
}

size_t differing_numbers(std::span<const float> x, std::span<const float> y) {
  size_t n = 0;
  for (size_t i = 0; i < x.size(); ++i) n += std::memcmp(&x[i], &y[i], sizeof(float)) != 0;
  return n;
}

size_t differing_rows(const Tensor& x, const Tensor& y) {
  size_t n = 0;
  for (size_t r = 0; r < x.rows(); ++r) {
    n += differing_numbers(x.matrix().row(r), y.matrix().row(r)) > 0;
  }
  return n;
}

// [channels, time], the layout of convolutions.
Tensor transposed(const Tensor& x) {
  const Tensor y(MemoryPool::process(), {x.cols(), x.rows()});
  for (size_t r = 0; r < x.rows(); ++r) {
    for (size_t c = 0; c < x.cols(); ++c) y.matrix().row(c)[r] = x.matrix().row(r)[c];
  }
  return y;
}

// y[o, t] = bias[o] + sum over channels c and taps j of weight[o, c, j] x[c, t + j - taps / 2]
Tensor convolution(const Tensor& x, const Tensor& weight, const Tensor& bias, size_t taps) {
  const size_t channels = x.rows(), time = x.cols(), out = bias.size();
  const Tensor y(MemoryPool::process(), {out, time});
  std::vector<double> row(time);
  for (size_t o = 0; o < out; ++o) {
    std::ranges::fill(row, bias.host()[o]);
    for (size_t c = 0; c < channels; ++c) {
      for (size_t j = 0; j < taps; ++j) {
        const double w = weight.host()[(o * channels + c) * taps + j];
        for (size_t t = 0; t < time; ++t) {
          const size_t from = t + j - taps / 2;  // wraps below 0, beyond `time`
          if (from < time) row[t] += w * x.matrix().row(c)[from];
        }
      }
    }
    for (size_t t = 0; t < time; ++t) y.matrix().row(o)[t] = static_cast<float>(row[t]);
  }
  return y;
}

Tensor by_convolutions(const PlainStack& stack, const Tensor& x) {
  const auto part = [&](std::string_view name) {
    return stack.parameter(concat("layers.0.", name));
  };
  const Tensor hidden = convolution(transposed(x), part("linear1.weight"), part("linear1.bias"), 1);
  for (float& v : hidden.host()) v = std::max(v, 0.0f);
  return transposed(convolution(hidden, part("linear2.weight"), part("linear2.bias"), 1));
}

}  // namespace

PositionWise measure_positions(const nn::LayerOptions& sizes, size_t positions, uint64_t seed,
                               Pool& pool) {
  nn::LayerOptions relu = sizes;
  relu.activation = kernels::Activation::kRelu;
  const PlainStack stack(relu, 1, seed, pool);
  const uint64_t key = draw_key(seed, "position_wise.inputs");
  const auto drawn = [&](size_t i) {
    const Tensor x(MemoryPool::process(), {positions, sizes.d_model});
    draw_vector(x.host(), key, i, {});
    return x;
  };
  const auto attention = [&](const Tensor& x) { return stack.attention(0, x); };
  const auto ffn = [&](const Tensor& x) { return stack.feed_forward(0, x); };
  const Tensor x = drawn(0);

  PositionWise p;
  std::vector<size_t> order(positions);  // turned round, and three on
  for (size_t i = 0; i < positions; ++i) order[i] = positions - 1 - (i + 3) % positions;
  p.ffn_permuted_differences =
      differing_numbers(ffn(permuted(x, order)).host(), permuted(ffn(x), order).host());
  p.attention_permuted = distance(attention(permuted(x, order)), permuted(attention(x), order));

  const size_t place = positions / 2;
  const Tensor changed = x.clone();
  const Tensor another = drawn(1);
  std::ranges::copy(another.matrix().row(place), changed.matrix().row(place).begin());
  p.ffn_rows_changed = differing_rows(ffn(x), ffn(changed));
  p.attention_rows_changed = differing_rows(attention(x), attention(changed));
  p.convolution = distance(ffn(x), by_convolutions(stack, x));

  // `another` with the word of x at its place: two sentences that share this word alone.
  const Tensor sentence = another.clone();
  std::ranges::copy(x.matrix().row(place), sentence.matrix().row(place).begin());
  const auto word = [&](const Tensor& y) { return y.slice_rows(place, place + 1); };
  const Tensor after = sum(x, attention(x)), other_after = sum(sentence, attention(sentence));
  p.word_before = distance(word(sentence), word(x));
  p.word_after = distance(word(other_after), word(after));
  p.word_ffn = distance(word(ffn(other_after)), word(ffn(after)));
  return p;
}

}  // namespace rapt::insight

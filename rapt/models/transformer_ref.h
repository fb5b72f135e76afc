// The whole Transformer as scalar formulas, for any number: on double it gives
// values, on dual numbers derivatives. Sentence after sentence, row after row,
// nothing fused, nothing shared with the library but the names of parameters
// and the random bits of dropout.
#pragma once
#include <cmath>
#include <map>
#include <string>

#include "rapt/base/philox.h"
#include "rapt/kernels/activation_ref.h"
#include "rapt/kernels/mixture_of_experts_ref.h"
#include "rapt/kernels/rotary_ref.h"
#include "rapt/models/config.h"
#include "rapt/nn/positions_ref.h"
#include "rapt/text/batches.h"

namespace rapt {

// Matrix is an array with a shape, as rapt/testing/array.h has it.
template <class Matrix>
class TransformerRef {
 public:
  using T = typename decltype(Matrix::data)::value_type;
  struct Dropouts {  // of the training step that is imitated
    bool on = false;
    uint64_t seed = 0, update = 0;
  };

  TransformerRef(const ModelConfig& config, std::map<std::string, Matrix> parameters,
                 Dropouts dropouts = {})
      : config_(config), parameters_(std::move(parameters)), dropouts_(dropouts) {}

  Matrix decoder_output(const Shard& shard) const {
    Matrix memory;
    if (config_.has_encoder()) {
      memory = embed("source", shard.source_ids, shard.source);
      for (size_t i = 0; i < config_.encoder_layers; ++i) {
        memory =
            encoder_layer("encoder.layers." + std::to_string(i), memory, shard.source, Sees::kAll);
      }
      if (config_.final_norm) memory = norm("encoder.norm", memory);
    }
    Matrix y = embed("target", shard.target_in, shard.target);
    for (size_t i = 0; i < config_.decoder_layers; ++i) {
      const std::string name = "decoder.layers." + std::to_string(i);
      y = config_.has_encoder() ? decoder_layer(name, y, shard.target, memory, shard.source)
                                : encoder_layer(name, y, shard.target, Sees::kPast);
    }
    return config_.final_norm ? norm("decoder.norm", y) : y;
  }

  Matrix logits(const Shard& shard) const {
    const Matrix y = decoder_output(shard);
    const Matrix& weight = get("output.weight");
    const Matrix none({weight.rows()});
    return linear(y, weight, config_.output_bias ? get("output.bias") : none, 0, weight.rows());
  }

  // -sum over rows and classes of q ln p, with q = 1 - eps + eps / V of the
  // right class, eps / V of the others.
  T loss(const Shard& shard, double eps, double balance = 0) const {
    using std::exp;
    using std::log;
    balance_ = T(0);
    const Matrix z = logits(shard);
    T total = T(balance * static_cast<double>(z.rows())) * balance_;
    for (size_t r = 0; r < z.rows(); ++r) {
      const T norm = log(sum(z.row(r), [](T v) { return exp(v); }));
      const T mean = average(z.row(r));
      const T right = z(r, static_cast<size_t>(shard.target_out[r]));
      total += norm - T(1 - eps) * right - T(eps) * mean;
    }
    return total;
  }

 private:
  const Matrix& get(const std::string& name) const { return parameters_.at(name); }

  static Matrix linear(const Matrix& x, const Matrix& w, const Matrix& b, size_t first,
                       size_t last) {
    Matrix y({x.rows(), last - first});
    for (size_t r = 0; r < x.rows(); ++r) {
      for (size_t c = first; c < last; ++c) {
        T dot = b.data[c];
        for (size_t i = 0; i < x.cols(); ++i) dot += x(r, i) * w(c, i);
        y(r, c - first) = dot;
      }
    }
    return y;
  }
  Matrix linear(const std::string& name, const Matrix& x) const {
    const Matrix& w = get(name + ".weight");
    return linear(x, w, get(name + ".bias"), 0, w.rows());
  }

  // The constants of DeepNorm by the table of Wang et al.
  T alpha(const std::string& layer) const {
    if (config_.residual != Residual::kDeepNorm) return T(1);
    const auto n = static_cast<double>(config_.encoder_layers);
    const auto m = static_cast<double>(config_.decoder_layers);
    if (!config_.has_encoder()) return T(std::pow(2 * m, 0.25));
    if (layer.starts_with("decoder")) return T(std::pow(3 * m, 0.25));
    return T(0.81 * std::pow(std::pow(n, 4) * m, 1.0 / 16));
  }

  Matrix norm(const std::string& name, const Matrix& x) const {
    switch (config_.norm) {
      case NormKind::kLayer:
        return layer_norm(name, x);
      case NormKind::kRms:
        return rms_norm(name, x);
      case NormKind::kBatch:
        return batch_norm(name, x);
      case NormKind::kNone:
        break;
    }
    return x;
  }
  // Training takes the moments of all tokens of the shard, evaluation the running ones.
  Matrix batch_norm(const std::string& name, const Matrix& x) const {
    using std::sqrt;
    Matrix y(x.shape);
    for (size_t c = 0; c < x.cols(); ++c) {
      T mean = get(name + ".running_mean").data[c], variance = get(name + ".running_var").data[c];
      if (dropouts_.on) {
        std::vector<T> column;
        for (size_t r = 0; r < x.rows(); ++r) column.push_back(x(r, c));
        mean = average(Row<T>(column));
        variance = average(Row<T>(column), [&](T v) { return (v - mean) * (v - mean); });
      }
      for (size_t r = 0; r < x.rows(); ++r) {
        y(r, c) = (x(r, c) - mean) / sqrt(variance + T(config_.norm_eps)) *
                      get(name + ".weight").data[c] +
                  get(name + ".bias").data[c];
      }
    }
    return y;
  }
  Matrix rms_norm(const std::string& name, const Matrix& x) const {
    using std::sqrt;
    Matrix y(x.shape);
    for (size_t r = 0; r < x.rows(); ++r) {
      const T square = average(x.row(r), [](T v) { return v * v; });
      for (size_t c = 0; c < x.cols(); ++c) {
        y(r, c) = x(r, c) / sqrt(square + T(config_.norm_eps)) * get(name + ".weight").data[c];
      }
    }
    return y;
  }
  Matrix layer_norm(const std::string& name, const Matrix& x) const {
    using std::sqrt;
    const Matrix &gamma = get(name + ".weight"), &beta = get(name + ".bias");
    Matrix y(x.shape);
    for (size_t r = 0; r < x.rows(); ++r) {
      const T mean = average(x.row(r));
      const T variance = average(x.row(r), [&](T v) { return (v - mean) * (v - mean); });
      for (size_t c = 0; c < x.cols(); ++c) {
        y(r, c) =
            (x(r, c) - mean) / sqrt(variance + T(config_.norm_eps)) * gamma.data[c] + beta.data[c];
      }
    }
    return y;
  }

  // m / (1 - p) with m = 0 or 1, for a key of a query (attention) or a column
  // of a row.
  T mask(float p, const std::string& site, RowKey row, size_t column, size_t head = 0) const {
    const DropRate rate = DropRate::of(dropouts_.on ? static_cast<double>(p) : 0.0);
    if (!rate.on()) return T(1);
    const uint64_t key = op_key(dropouts_.seed, Stream::kDropout, site_of(site), dropouts_.update);
    const int16_t draw =
        draw16(key, row, static_cast<uint32_t>(column), static_cast<uint32_t>(head));
    return T(rate.keeps(draw) ? static_cast<double>(rate.scale()) : 0.0);
  }
  Matrix dropout(Matrix x, float p, const std::string& site, const Lengths& lengths) const {
    for (size_t r = 0; r < x.rows(); ++r) {
      for (size_t c = 0; c < x.cols(); ++c) x(r, c) *= mask(p, site, lengths.key(r), c);
    }
    return x;
  }

  T position(const std::string& side, size_t place, size_t c) const {
    if (config_.positions == Positions::kLearned) return get(side + "_positions.weight")(place, c);
    if (config_.positions != Positions::kSinusoidal) return T(0);
    return T(nn::sinusoid_ref(place, c, config_.d_model, config_.position_layout));
  }
  Matrix embed(const std::string& side, const std::vector<int32_t>& ids,
               const Lengths& lengths) const {
    const Matrix& table = get(side + "_embedding.weight");
    Matrix x({ids.size(), config_.d_model});
    const double scale = config_.scale_embedding ? std::sqrt(static_cast<double>(x.cols())) : 1.0;
    for (size_t r = 0; r < ids.size(); ++r) {
      for (size_t c = 0; c < x.cols(); ++c) {
        x(r, c) = T(scale) * table(static_cast<size_t>(ids[r]), c) +
                  position(side, lengths.key(r).position, c);
      }
    }
    return dropout(x, config_.dropout_embedding, side + "_embedding.dropout", lengths);
  }

  // Row c of a head's matrix in a parameter [heads, d, d].
  Row<T> head_row(const std::string& name, size_t h, size_t c, size_t d) const {
    return get(name).row(h * d + c);
  }

  // nn/score.h, of query head h and key head g.
  T score(const std::string& name, Row<T> q, Row<T> k, size_t h, size_t g) const {
    using std::sqrt, std::tanh;
    const size_t d = q.size();
    const T root = sqrt(T(static_cast<double>(d)));
    const auto dot = [d](Row<T> x, Row<T> y) {
      T sum(0);
      for (size_t c = 0; c < d; ++c) sum += x[c] * y[c];
      return sum;
    };
    T sum(0);
    switch (config_.score) {
      case ScoreKind::kScaledDot:
        return dot(q, k) / root;
      case ScoreKind::kDot:
        return dot(q, k);
      case ScoreKind::kBilinear:
        for (size_t c = 0; c < d; ++c) {
          sum += k[c] * dot(head_row(name + ".score_weight", h, c, d), q);
        }
        return sum;
      case ScoreKind::kAdditive:
        for (size_t c = 0; c < d; ++c) {
          sum += get(name + ".score_vector")(h, c) *
                 tanh(dot(head_row(name + ".score_key_weight", g, c, d), k) +
                      dot(head_row(name + ".score_query_weight", h, c, d), q));
        }
        return sum;
      case ScoreKind::kCosine:
        return get(name + ".score_gain").data[h] * root * dot(q, k) /
               (sqrt(dot(q, q) + T(1e-6)) * sqrt(dot(k, k) + T(1e-6)));
    }
    return sum;
  }

  // What a query of self-attention sees, or that it reads another sentence, all of it.
  enum class Sees { kAll, kPast, kMemory };

  bool visible(Sees sees, size_t i, size_t j) const {
    if (sees == Sees::kMemory) return true;
    const size_t distance = i < j ? j - i : i - j;
    return (sees == Sees::kAll || j <= i) && (config_.window == 0 || distance <= config_.window);
  }
  // Press et al. for a power of two of heads; else those of the power below, then every second of
  // the power above.
  double slope(size_t h) const {
    size_t power = 1;
    while (2 * power <= config_.heads) power *= 2;
    const double exponent =
        h < power ? 8.0 * static_cast<double>(h + 1) / static_cast<double>(power)
                  : 8.0 * static_cast<double>(2 * (h - power) + 1) / static_cast<double>(2 * power);
    return std::pow(2.0, -exponent);
  }
  void turn(Matrix& x, const Lengths& lengths) const {
    const size_t dim = config_.key_dim();
    const auto pairs = config_.position_layout == PositionLayout::kHalves
                           ? kernels::RotaryPairs::kHalves
                           : kernels::RotaryPairs::kNeighbours;
    for (size_t r = 0; r < x.rows(); ++r) {
      for (size_t c = 0; c < x.cols(); c += dim) {
        const std::vector<T> turned =
            kernels::rotary_ref<T>(x.row(r).subspan(c, dim), lengths.key(r).position,
                                   static_cast<double>(config_.rotary_base), pairs);
        for (size_t i = 0; i < dim; ++i) x(r, c + i) = turned[i];
      }
    }
  }

  // Queries x on keys of `memory` (x itself in self-attention), head by head.
  Matrix attention(const std::string& name, const Matrix& x, const Lengths& queries,
                   const Matrix& memory, const Lengths& keys, Sees sees) const {
    using std::exp;
    const size_t dim = config_.key_dim(), dim_v = config_.value_dim();
    const size_t group = config_.heads / config_.key_heads();
    const size_t first_k = config_.heads * dim, first_v = first_k + config_.key_heads() * dim,
                 end = first_v + config_.key_heads() * dim_v;
    const Matrix &w = get(name + ".in_proj_weight"), &b = get(name + ".in_proj_bias");
    Matrix q = linear(x, w, b, 0, first_k), k = linear(memory, w, b, first_k, first_v);
    const Matrix v = linear(memory, w, b, first_v, end);
    if (config_.positions == Positions::kRotary && sees != Sees::kMemory) {
      turn(q, queries);
      turn(k, keys);
    }
    const bool alibi = config_.positions == Positions::kAlibi && sees != Sees::kMemory;
    Matrix out({x.rows(), config_.heads * dim_v});
    for (size_t r = 0; r < x.rows(); ++r) {
      const size_t s = queries.find(r), first = keys.offset(s), i = r - queries.offset(s);
      for (size_t h = 0; h < config_.heads; ++h) {
        const size_t g = h / group;
        std::vector<T> p(keys[s].size, T(0));
        T total = config_.attention_sink ? exp(get(name + ".sink").data[h]) : T(0);
        for (size_t j = 0; j < p.size(); ++j) {
          if (!visible(sees, i, j)) continue;
          const double distance = std::abs(static_cast<double>(i) - static_cast<double>(j));
          p[j] = exp(score(name, q.row(r).subspan(h * dim, dim),
                           k.row(first + j).subspan(g * dim, dim), h, g) -
                     T(alibi ? slope(h) * distance : 0.0));
          total += p[j];
        }
        for (size_t j = 0; j < p.size(); ++j) {
          const T weight = p[j] / total *
                           mask(config_.dropout_attention, name + ".dropout", queries.key(r), j, h);
          for (size_t c = 0; c < dim_v; ++c) {
            out(r, h * dim_v + c) += weight * v(first + j, g * dim_v + c);
          }
        }
      }
    }
    return linear(name + ".out_proj", out);
  }

  Matrix feed_forward(const std::string& name, const Matrix& x, const Lengths& lengths) const {
    Matrix hidden = linear(name + ".linear1", x);
    for (T& v : hidden.data) v = kernels::activation_ref(config_.activation, v);
    if (config_.gated) {
      const Matrix value = linear(name + ".linear3", x);
      for (size_t i = 0; i < hidden.data.size(); ++i) hidden.data[i] *= value.data[i];
    }
    hidden = dropout(hidden, config_.dropout_activation, name + ".dropout", lengths);
    return linear(name + ".linear2", hidden);
  }

  // One network; or row by row the experts with the highest scores, weighted by their softmax.
  Matrix position_wise(const std::string& name, const Matrix& x, const Lengths& lengths) const {
    if (!parameters_.contains(name + ".gate.weight")) return feed_forward(name, x, lengths);
    const Matrix& gate = get(name + ".gate.weight");
    const Matrix scores = linear(x, gate, Matrix({gate.rows()}), 0, gate.rows());
    const auto network = [&](size_t e, size_t r) {
      Matrix row({1, x.cols()});
      std::ranges::copy(x.row(r), row.data.begin());
      const Lengths here({{lengths.key(r).id, 1, lengths.key(r).position}});
      return feed_forward(name + ".experts." + std::to_string(e), row, here);
    };
    const auto [y, balance] = kernels::experts_ref(scores, config_.experts_top_k, network);
    balance_ += balance;
    return y;
  }

  // Sub-layer number n with its residual and its norm.
  template <class F>
  Matrix connect(const std::string& name, int n, const Matrix& x, const Lengths& lengths,
                 const F& f) const {
    const std::string number = std::to_string(n);
    const auto branch = [&](const Matrix& in) {
      return dropout(f(in), config_.dropout_residual, name + ".dropout" + number, lengths);
    };
    const auto normal = [&](const Matrix& in) { return norm(name + ".norm" + number, in); };
    const auto plus = [&](Matrix y) {
      for (size_t i = 0; i < y.data.size(); ++i) y.data[i] += alpha(name) * x.data[i];
      return y;
    };
    switch (config_.residual) {
      case Residual::kPlain:
        return plus(branch(x));
      case Residual::kPre:
        return plus(branch(normal(x)));
      case Residual::kBranch:
        return plus(normal(branch(x)));
      case Residual::kPost:
      case Residual::kDeepNorm:
        return normal(plus(branch(x)));
      case Residual::kNone:
        break;
    }
    return branch(x);
  }

  Matrix encoder_layer(const std::string& name, const Matrix& x, const Lengths& lengths,
                       Sees sees) const {
    const Matrix a = connect(name, 1, x, lengths, [&](const Matrix& in) {
      return attention(name + ".self_attn", in, lengths, in, lengths, sees);
    });
    return connect(name, 2, a, lengths,
                   [&](const Matrix& in) { return position_wise(name, in, lengths); });
  }
  Matrix decoder_layer(const std::string& name, const Matrix& x, const Lengths& targets,
                       const Matrix& memory, const Lengths& sources) const {
    const Matrix a = connect(name, 1, x, targets, [&](const Matrix& in) {
      return attention(name + ".self_attn", in, targets, in, targets, Sees::kPast);
    });
    const Matrix b = connect(name, 2, a, targets, [&](const Matrix& in) {
      return attention(name + ".multihead_attn", in, targets, memory, sources, Sees::kMemory);
    });
    return connect(name, 3, b, targets,
                   [&](const Matrix& in) { return position_wise(name, in, targets); });
  }

  ModelConfig config_;
  std::map<std::string, Matrix> parameters_;
  Dropouts dropouts_;
  mutable T balance_{0};  // of the experts, summed over the layers of the last pass
};

}  // namespace rapt

// The oracles of attention.h, for one sequence, laid out by the strides of `Attention`:
// attention_ref is the formula on any number, attention_bits the order of summation in scalar fma.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "rapt/base/row.h"
#include "rapt/kernels/attention.h"

namespace rapt::kernels {

inline double value_of(double x) { return x; }
template <class T>
requires requires(T x) { x.v; }  // a dual number
double value_of(const T& x) { return x.v; }

inline bool attention_visible(const AttentionSequence& s, size_t i, size_t j) {
  const int64_t offset =
      static_cast<int64_t>(s.key_position + j) - static_cast<int64_t>(s.query_position + i);
  return s.band.first <= offset && offset <= s.band.last;
}
inline bool attention_keeps(const Attention& a, const AttentionSequence& s, size_t head, size_t i,
                            size_t j) {
  const RowKey row{s.id, s.query_position + static_cast<uint32_t>(i)};
  const uint32_t key = s.key_position + static_cast<uint32_t>(j);
  return !a.dropout.on() ||
         a.dropout.keeps(draw16(a.dropout_key, row, key, static_cast<uint32_t>(head)));
}
inline double attention_distance(const AttentionSequence& s, size_t i, size_t j) {
  return std::abs(static_cast<double>(s.key_position + j) -
                  static_cast<double>(s.query_position + i));
}
// Where the bias of (head, i, j) is, from that of position (0, 0).
inline size_t attention_bias_at(const Attention& a, const AttentionSequence& s, size_t head,
                                size_t i, size_t j) {
  return head * a.bias.head + (s.query_position + i) * a.bias.row + s.key_position + j;
}

// Writes out, and P before dropout [heads, queries, keys] if wanted. Empty rows mean: no bias, no
// sink.
template <class T>
void attention_ref(const Attention& a, const AttentionSequence& s, Row<T> q, Row<T> k, Row<T> v,
                   Row<T> bias, Row<T> sink, std::vector<T>& out, std::vector<T>* weights = nullptr,
                   std::vector<double>* lse = nullptr) {
  using std::exp;
  using std::tanh;
  for (size_t h = 0; h < a.heads; ++h) {
    const size_t kv = h / a.group();
    for (size_t i = 0; i < s.queries; ++i) {
      std::vector<T> score(s.keys), p(s.keys, T(0));
      double max = -std::numeric_limits<double>::infinity();
      for (size_t j = 0; j < s.keys; ++j) {
        T dot = T(0);
        for (size_t c = 0; c < a.dim; ++c) {
          dot = dot + q[h * a.q.head + i * a.q.row + c] * k[kv * a.k.head + j * a.k.row + c];
        }
        score[j] = dot * T(a.scale);
        const T cap = T(a.softcap);
        if (a.softcap != 0) score[j] = cap * tanh(score[j] / cap);
        if (!bias.empty()) score[j] = score[j] + bias[attention_bias_at(a, s, h, i, j)];
        if (a.slopes != nullptr) {
          score[j] = score[j] - T(a.slopes[h] * attention_distance(s, i, j));
        }
        if (attention_visible(s, i, j) && score[j] > T(max)) max = value_of(score[j]);
      }
      if (!sink.empty() && sink[h] > T(max)) max = value_of(sink[h]);
      T total = sink.empty() ? T(0) : exp(sink[h] - T(max));
      for (size_t j = 0; j < s.keys; ++j) {
        const bool hidden = !attention_visible(s, i, j) ||
                            value_of(score[j]) == -std::numeric_limits<double>::infinity();
        if (hidden) continue;
        p[j] = exp(score[j] - T(max));
        total = total + p[j];
      }
      for (size_t c = 0; c < a.dim_v; ++c) {
        T o = T(0);
        for (size_t j = 0; j < s.keys; ++j) {
          if (value_of(p[j]) == 0 || !attention_keeps(a, s, h, i, j)) continue;
          o = o + p[j] / total * T(a.dropout.scale()) * v[kv * a.v.head + j * a.v.row + c];
        }
        out[h * a.out.head + i * a.out.row + c] = o;
      }
      for (size_t j = 0; j < s.keys && weights != nullptr; ++j) {
        const T none = T(0);
        (*weights)[(h * s.queries + i) * s.keys + j] = value_of(p[j]) == 0 ? none : p[j] / total;
      }
      if (lse != nullptr) {
        (*lse)[h * a.lse_stride + i] = (max + std::log(value_of(total))) / std::log(2.0);
      }
    }
  }
}

// The functions of simd_math-inl.h, of one number.
struct ScalarMath {
  float (*exp2_nonpositive)(float);
  float (*log2)(float);
  float (*tanh)(float);
};

// The order of summation of attention.h, word by word; the vector kernels match it to the bit.
class AttentionBits {
 public:
  AttentionBits(const Attention& a, const AttentionSequence& s, const ScalarMath& math)
      : a_(a), s_(s), math_(math) {}

  void forward() const {
    for (size_t h = 0; h < a_.heads; ++h) {
      for (size_t i = 0; i < s_.queries; ++i) forward_row(h, i);
    }
  }

  // dbias, if wanted, is added to.
  void backward(const AttentionGrad& grad, float* dbias) const {
    for (size_t kv = 0; kv < a_.kv_heads; ++kv) backward_keys(grad, kv);
    for (size_t h = 0; h < a_.heads; ++h) {
      const Gradient g = gradient(grad, h);
      for (size_t i = 0; i < s_.queries && dbias != nullptr; ++i) {
        for (size_t j = 0; j < s_.keys; ++j) {
          if (visible(i, j)) dbias[attention_bias_at(a_, s_, h, i, j)] += g.ds[i * s_.keys + j];
        }
      }
      if (a_.sink != nullptr) grad.dsink[h] = sink_gradient(g, h);
    }
  }

 private:
  static constexpr float kLog2E = 1.44269504088896341f;
  struct Gradient {  // of one head: [queries, keys]
    std::vector<float> p, ds, ds_before_cap, delta;
  };

  bool visible(size_t i, size_t j) const { return attention_visible(s_, i, j); }
  size_t row_of(size_t j) const { return s_.slots == nullptr ? j : s_.slots[j]; }

  // The score in units of log2; tanh of the cap, if wanted.
  float score(size_t h, size_t i, size_t j, float* tanh = nullptr) const {
    const float* q = s_.q + h * a_.q.head + i * a_.q.row;
    const float* k = s_.k + h / a_.group() * a_.k.head + row_of(j) * a_.k.row;
    const float factor = a_.scale * kLog2E;
    float x = 0.0f;
    for (size_t c = 0; c < a_.dim; ++c) x = std::fma(k[c], q[c] * factor, x);
    if (a_.softcap != 0) {
      const float t = math_.tanh(1.0f / (a_.softcap * kLog2E) * x);
      if (tanh != nullptr) *tanh = t;
      x = a_.softcap * kLog2E * t;
    }
    if (s_.bias != nullptr) {
      x = std::fma(s_.bias[attention_bias_at(a_, s_, h, i, j)], kLog2E, x);
    }
    if (a_.slopes != nullptr) {
      const float distance = static_cast<float>(attention_distance(s_, i, j));
      x = std::fma(-a_.slopes[h] * kLog2E, distance, x);
    }
    return x;
  }

  void forward_row(size_t h, size_t i) const {
    float max = -1e29f, sum = 0.0f;
    if (a_.sink != nullptr) {
      max = std::ceil(a_.sink[h] * kLog2E);
      sum = math_.exp2_nonpositive(a_.sink[h] * kLog2E - max);
    }
    std::vector<float> o(a_.dim_v, 0.0f);
    const size_t end = s_.key_position + s_.keys;
    for (size_t tile = s_.key_position / 128 * 128; tile < end; tile += 128) {
      const size_t first = std::max<size_t>(tile, s_.key_position);
      const size_t last = std::min<size_t>(tile + 128, end);
      const size_t from = first - s_.key_position, to = last - s_.key_position;
      std::vector<float> x(to);
      float top = max;
      for (size_t j = from; j < to; ++j) {
        x[j] = visible(i, j) ? score(h, i, j) : -1e30f;
        if (x[j] > top) top = x[j];
      }
      top = std::ceil(top);
      float chain[8] = {};
      for (size_t j = from; j < to; ++j) {
        x[j] = math_.exp2_nonpositive(x[j] - top);
        chain[(s_.key_position + j) % 8] += x[j];
        if (!attention_keeps(a_, s_, h, i, j)) x[j] = 0.0f;
      }
      const float decay = math_.exp2_nonpositive(max - top);
      sum = std::fma(sum, decay,
                     ((chain[0] + chain[4]) + (chain[2] + chain[6])) +
                         ((chain[1] + chain[5]) + (chain[3] + chain[7])));
      for (size_t c = 0; c < a_.dim_v; ++c) {
        float part = 0.0f;
        for (size_t j = from; j < to; ++j) {
          part = std::fma(x[j], s_.v[h / a_.group() * a_.v.head + row_of(j) * a_.v.row + c], part);
        }
        o[c] = std::fma(o[c], decay, part);
      }
      max = top;
    }
    const float scale = sum == 0.0f ? 0.0f : a_.dropout.scale() / sum;
    for (size_t c = 0; c < a_.dim_v; ++c) {
      s_.out[h * a_.out.head + i * a_.out.row + c] = o[c] * scale;
    }
    s_.lse[h * a_.lse_stride + i] = max + math_.log2(sum);
  }

  // The sum of a row of simd-inl.h: 32 lanes, then halves.
  float delta(const AttentionGrad& grad, size_t h, size_t i) const {
    float part[32] = {};
    for (size_t c = 0; c < a_.dim_v; ++c) {
      const size_t at = h * a_.out.head + i * a_.out.row + c;
      part[c % 32] += s_.out[at] * grad.dout[at];
    }
    for (size_t width = 16; width > 0; width /= 2) {
      for (size_t n = 0; n < width; ++n) part[n] += part[n + width];
    }
    return part[0];
  }

  Gradient gradient(const AttentionGrad& grad, size_t h) const {
    Gradient g;
    for (auto* x : {&g.p, &g.ds, &g.ds_before_cap}) x->assign(s_.queries * s_.keys, 0.0f);
    const float keep = a_.dropout.scale();
    for (size_t i = 0; i < s_.queries; ++i) {
      g.delta.push_back(delta(grad, h, i));
      const float lse = s_.lse[h * a_.lse_stride + i];
      if (lse == -std::numeric_limits<float>::infinity()) continue;
      for (size_t j = 0; j < s_.keys; ++j) {
        if (!visible(i, j)) continue;
        float tanh = 0.0f, dp = 0.0f;
        const float p = math_.exp2_nonpositive(score(h, i, j, &tanh) - lse);
        for (size_t c = 0; c < a_.dim_v; ++c) {
          const float v = s_.v[h / a_.group() * a_.v.head + j * a_.v.row + c];
          dp = std::fma(v, grad.dout[h * a_.out.head + i * a_.out.row + c] * keep, dp);
        }
        const bool keeps = attention_keeps(a_, s_, h, i, j);
        const size_t at = i * s_.keys + j;
        g.p[at] = !keeps ? 0.0f : a_.dropout.on() ? p * keep : p;
        g.ds[at] = p * ((keeps ? dp : 0.0f) - g.delta[i]);
        g.ds_before_cap[at] = a_.softcap == 0 ? g.ds[at] : g.ds[at] * std::fma(-tanh, tanh, 1.0f);
      }
    }
    return g;
  }

  float sink_gradient(const Gradient& g, size_t h) const {
    float total = 0.0f;
    for (size_t block = 0; block < s_.queries; block += 64) {
      float part = 0.0f;
      for (size_t i = block; i < std::min<size_t>(block + 64, s_.queries); ++i) {
        const float lse = s_.lse[h * a_.lse_stride + i];
        part -= math_.exp2_nonpositive(a_.sink[h] * kLog2E - lse) * g.delta[i];
      }
      total += part;
    }
    return total;
  }

  // The first key that a block of queries sees, by coordinate: see attention_keys-inl.h.
  size_t first_key(size_t query) const {
    const size_t base = s_.key_position / 128 * 128, begin = s_.key_position - base;
    const int64_t first = static_cast<int64_t>(s_.query_position + query) + s_.band.first -
                          static_cast<int64_t>(base);
    const int64_t end = static_cast<int64_t>(begin + s_.keys);
    return static_cast<size_t>(std::clamp<int64_t>(first, static_cast<int64_t>(begin), end)) / 8 *
           8;
  }

  void backward_keys(const AttentionGrad& grad, size_t kv) const {
    const size_t begin = s_.key_position % 128, end = begin + s_.keys;  // coordinates
    std::vector<float> dk(s_.keys * a_.dim, 0.0f), dv(s_.keys * a_.dim_v, 0.0f);
    for (size_t h = kv * a_.group(); h < (kv + 1) * a_.group(); ++h) {
      const Gradient g = gradient(grad, h);
      for (size_t query = 0; query < s_.queries; query += 64) {
        const size_t last = std::min<size_t>(query + 64, s_.queries);
        const auto chain = [&](const std::vector<float>& p, size_t j, const float* x, size_t row) {
          float sum = 0.0f;
          for (size_t i = query; i < last; ++i) {
            sum = std::fma(p[i * s_.keys + j], x[i * row], sum);
          }
          return sum;
        };
        for (size_t j = 0; j < s_.keys; ++j) {
          for (size_t c = 0; c < a_.dim; ++c) {
            dk[j * a_.dim + c] += chain(g.ds_before_cap, j, s_.q + h * a_.q.head + c, a_.q.row);
          }
          for (size_t c = 0; c < a_.dim_v; ++c) {
            dv[j * a_.dim_v + c] += chain(g.p, j, grad.dout + h * a_.out.head + c, a_.out.row);
          }
        }
        for (size_t i = query; i < last; ++i) {
          for (size_t c = 0; c < a_.dim; ++c) {
            float& dq = grad.dq[h * a_.q.head + i * a_.q.row + c];
            dq = 0.0f;
            for (size_t chunk = 0; chunk < end; chunk += 512) {
              float part = 0.0f;
              const size_t stop = std::min(chunk + 512, end);
              for (size_t key = std::max(chunk, first_key(query)); key < stop; key += 64) {
                float sum = 0.0f;
                for (size_t j = std::max(key, begin); j < std::min(key + 64, stop); ++j) {
                  const float k = s_.k[kv * a_.k.head + (j - begin) * a_.k.row + c];
                  sum = std::fma(g.ds_before_cap[i * s_.keys + j - begin], k, sum);
                }
                part += sum;
              }
              dq += a_.scale * part;
            }
          }
        }
      }
    }
    for (size_t j = 0; j < s_.keys; ++j) {
      for (size_t c = 0; c < a_.dim; ++c) {
        grad.dk[kv * a_.k.head + j * a_.k.row + c] = a_.scale * dk[j * a_.dim + c];
      }
      for (size_t c = 0; c < a_.dim_v; ++c) {
        grad.dv[kv * a_.v.head + j * a_.v.row + c] = dv[j * a_.dim_v + c];
      }
    }
  }

  const Attention& a_;
  const AttentionSequence& s_;
  const ScalarMath& math_;
};

}  // namespace rapt::kernels

// Random attention problems for the tests: ragged sequences with all that a call may have.
#pragma once
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "rapt/kernels/attention.h"

namespace rapt::kernels::testing {

using Floats = std::vector<float>;

struct Size {
  uint32_t queries, keys, query_position = 0, key_position = 0;
};

struct Case {
  std::string name;
  std::vector<Size> sizes;
  size_t heads = 2, kv_heads = 2, dim = 16, dim_v = 16;
  AttentionBand band{};
  bool bottom_right = false;           // band counts from the last query and key
  int bias = 0;                        // 1: one for all heads and sequences, 2: one for each head
  uint32_t drop = 0;                   // of 65536
  float softcap = 0.0f, range = 1.0f;  // range of Q
  bool slopes = false, sink = false, fused = false, slots = false;
};

// Values in (-range, range).
inline Floats random_floats(size_t n, uint32_t salt, float range = 1.0f) {
  Floats x(n);
  for (size_t i = 0; i < n; ++i) {
    const int16_t draw = draw16(0x7E57, {salt, static_cast<uint32_t>(i / 8)}, i % 8);
    x[i] = (static_cast<float>(draw) + 0.5f) / 32768.0f * range;
  }
  return x;
}

// Q, K and V as rows of one matrix (`fused`) or of three, whose rows have gaps.
struct Problem {
  Case c;
  Attention a;
  std::vector<AttentionSequence> sequences;
  std::vector<AttentionGrad> grads;
  std::vector<float*> dbias_of;
  Floats q, k, v, out, lse, bias, slopes, sink, dout, dq, dk, dv, dbias, dsink;
  std::vector<int32_t> slots;
  std::vector<size_t> first_query, first_key;  // rows before sequence s
  size_t bias_rows = 0, bias_cols = 0;

  explicit Problem(const Case& test) : c(test) {
    size_t rows = 0, keys = 0;
    for (const Size& s : c.sizes) {
      first_query.push_back(rows);
      first_key.push_back(keys);
      rows += s.queries;
      keys += s.keys;
      bias_rows = std::max<size_t>(bias_rows, s.query_position + s.queries);
      bias_cols = std::max<size_t>(bias_cols, s.key_position + s.keys);
    }
    a.heads = c.heads, a.kv_heads = c.kv_heads, a.dim = c.dim, a.dim_v = c.dim_v;
    a.scale = 1.0f / std::sqrt(static_cast<float>(c.dim));
    a.softcap = c.softcap;
    const size_t fused = (c.heads + 2 * c.kv_heads) * c.dim;
    a.q = {c.fused ? fused : c.heads * c.dim + 3, c.dim};
    a.k = {c.fused ? fused : c.kv_heads * c.dim + 5, c.dim};
    a.v = {c.fused ? fused : c.kv_heads * c.dim_v, c.dim_v};
    a.out = {c.heads * c.dim_v, c.dim_v};
    a.bias = {bias_cols, c.bias == 2 ? bias_rows * bias_cols : 0};
    a.lse_stride = rows;
    a.dropout = {c.drop};
    a.dropout_key = 0x123456789abcdefULL;
    q = random_floats(rows * a.q.row, 1, c.range);
    k = random_floats(keys * a.k.row, 2);
    v = random_floats(keys * a.v.row, 3);
    if (c.bias != 0) make_bias();
    slopes = random_floats(c.heads, 6, 0.5f);
    sink = random_floats(c.heads, 7, 3.0f);
    dout = random_floats(rows * a.out.row, 4);
    out.assign(rows * a.out.row, 7.0f);
    lse.assign(rows * c.heads, 7.0f);
    dq.assign(q.size(), 7.0f), dk.assign(k.size(), 7.0f), dv.assign(v.size(), 7.0f);
    dbias.assign(bias.size(), 0.0f);
    dsink.assign(c.heads * c.sizes.size(), 7.0f);
    if (c.slots) scatter(keys);
    bind();
  }

  size_t q_at(size_t s) const { return first_query[s] * a.q.row; }
  size_t k_at(size_t s) const {
    return c.slots ? 0 : first_key[s] * a.k.row + (c.fused ? c.heads * c.dim : 0);
  }
  size_t v_at(size_t s) const {
    return c.slots ? 0 : first_key[s] * a.v.row + (c.fused ? (c.heads + c.kv_heads) * c.dim : 0);
  }

  // Points the sequences to the values, which copies do not share.
  void bind() {
    sequences.clear(), grads.clear(), dbias_of.clear();
    a.slopes = c.slopes ? slopes.data() : nullptr;
    a.sink = c.sink ? sink.data() : nullptr;
    Floats &keys = c.fused ? q : k, &values = c.fused ? q : v;
    Floats &dkeys = c.fused ? dq : dk, &dvalues = c.fused ? dq : dv;
    for (size_t n = 0; n < c.sizes.size(); ++n) {
      const Size& size = c.sizes[n];
      AttentionSequence s;
      s.q = q.data() + q_at(n), s.k = keys.data() + k_at(n), s.v = values.data() + v_at(n);
      s.out = out.data() + first_query[n] * a.out.row;
      s.lse = lse.data() + first_query[n];
      s.bias = c.bias == 0 ? nullptr : bias.data();
      s.slots = c.slots ? slots.data() + first_key[n] : nullptr;
      s.id = 0x123400000000 + 1000 * n;
      s.queries = size.queries, s.keys = size.keys;
      s.query_position = size.query_position, s.key_position = size.key_position;
      s.band = c.band;
      if (c.bottom_right) {
        const int64_t shift =
            int64_t{size.key_position} + size.keys - size.query_position - size.queries;
        s.band = {c.band.first + shift, c.band.last + shift};
      }
      sequences.push_back(s);
      grads.push_back({dout.data() + first_query[n] * a.out.row, dq.data() + q_at(n),
                       dkeys.data() + k_at(n), dvalues.data() + v_at(n),
                       dsink.data() + n * c.heads});
      dbias_of.push_back(dbias.data());
    }
  }

  void forward(Pool& pool) {
    bind();
    std::vector<uint32_t> plan(attention_plan_size(a, sequences));
    attention_forward(a, sequences, plan, pool);
  }
  void run(Pool& pool) {
    forward(pool);
    std::vector<uint32_t> plan(attention_plan_size(a, sequences));
    attention_backward(a, sequences, grads, plan, pool);
    if (c.bias != 0) attention_bias_backward(a, sequences, grads, dbias_of, pool);
  }

 private:
  void make_bias() {
    bias = random_floats((c.bias == 2 ? c.heads : 1) * bias_rows * bias_cols, 5, 2.0f);
    for (size_t i = 0; i < bias.size(); i += 7) bias[i] = -std::numeric_limits<float>::infinity();
  }
  // Rows of K and V change places: row slots[r] holds what row r held.
  void scatter(size_t keys) {
    slots.resize(keys);
    const Floats k_before = k, v_before = v;
    for (size_t r = 0; r < keys; ++r) {
      // Pairs stay neighbours, so that some tiles are adjacent and others are not.
      const size_t to = r < keys / 2 * 2 ? (keys / 2 - 1 - r / 2) * 2 + r % 2 : r;
      slots[r] = static_cast<int32_t>(to);
    }
    for (size_t r = 0; r < keys; ++r) {
      const size_t to = static_cast<size_t>(slots[r]);
      std::copy_n(&k_before[r * a.k.row], a.k.row, &k[to * a.k.row]);
      std::copy_n(&v_before[r * a.v.row], a.v.row, &v[to * a.v.row]);
    }
  }
};

inline std::vector<Case> cases() {
  constexpr int64_t kOpen = AttentionBand::kOpen;
  const AttentionBand causal{-kOpen, 0};
  std::vector<Case> list;
  for (size_t dim : {1, 7, 16, 24, 32, 33, 64, 80}) {
    list.push_back(
        {.name = "dim", .sizes = {{37, 70}, {3, 5}, {65, 131}}, .dim = dim, .dim_v = dim});
  }
  list.push_back({.name = "dim_v", .sizes = {{37, 70}, {66, 41}}, .dim = 24, .dim_v = 40});
  list.push_back({.name = "dim_v of 1", .sizes = {{9, 17}}, .dim = 64, .dim_v = 1});
  for (uint32_t t : {1, 2, 4, 5, 8, 15, 16, 17, 31, 32, 33, 47, 64, 65, 127, 128, 129, 200}) {
    list.push_back({.name = "causal", .sizes = {{t, t}}, .dim = 24, .dim_v = 24, .band = causal});
  }
  list.push_back({.name = "ragged, fused, causal",
                  .sizes = {{5, 5}, {1, 1}, {200, 200}, {0, 0}, {33, 33}, {16, 16}},
                  .band = causal,
                  .fused = true});
  list.push_back({.name = "top-left", .sizes = {{100, 30}, {30, 100}}, .band = causal});
  list.push_back({.name = "bottom-right",
                  .sizes = {{30, 100}, {100, 30}},
                  .band = causal,
                  .bottom_right = true});
  list.push_back({.name = "window", .sizes = {{230, 230}, {20, 20}}, .band = {-50, 20}});
  list.push_back({.name = "causal window", .sizes = {{300, 300}}, .band = {-100, 0}});
  list.push_back({.name = "masked rows", .sizes = {{150, 60}}, .band = {5, 9}});
  list.push_back({.name = "no keys", .sizes = {{9, 0}, {3, 0}, {0, 7}, {5, 6}}});
  list.push_back(
      {.name = "grouped", .sizes = {{70, 70}, {3, 9}}, .heads = 6, .kv_heads = 2, .band = causal});
  list.push_back({.name = "one key head, fused",
                  .sizes = {{20, 20}, {67, 67}},
                  .heads = 4,
                  .kv_heads = 1,
                  .dim = 8,
                  .dim_v = 8,
                  .band = causal,
                  .fused = true});
  list.push_back({.name = "bias", .sizes = {{70, 133}, {40, 90}, {3, 60}}, .bias = 2});
  list.push_back({.name = "shared bias",
                  .sizes = {{77, 77}, {20, 20}},
                  .heads = 4,
                  .kv_heads = 2,
                  .dim = 24,
                  .band = causal,
                  .bias = 1});
  list.push_back({.name = "dropout", .sizes = {{130, 213}, {3, 9}}, .drop = 6554});
  list.push_back({.name = "dropout, bias",
                  .sizes = {{93, 93}},
                  .dim = 32,
                  .dim_v = 8,
                  .band = causal,
                  .bias = 1,
                  .drop = 32768});
  list.push_back(
      {.name = "dropout, window", .sizes = {{200, 200}}, .band = {-33, 3}, .drop = 13107});
  list.push_back({.name = "slopes", .sizes = {{50, 150}, {2, 80}}, .slopes = true});
  list.push_back({.name = "softcap", .sizes = {{50, 150}, {4, 30}}, .softcap = 1.5f, .range = 8});
  list.push_back(
      {.name = "sink", .sizes = {{80, 150}, {4, 30}, {9, 0}}, .band = {3, kOpen}, .sink = true});
  list.push_back({.name = "everything",
                  .sizes = {{140, 140}, {4, 4}},
                  .heads = 4,
                  .kv_heads = 2,
                  .dim = 20,
                  .dim_v = 12,
                  .band = {-90, 0},
                  .bias = 2,
                  .drop = 6554,
                  .softcap = 3.0f,
                  .range = 6,
                  .slopes = true,
                  .sink = true});
  // More than a tile of queries and a chunk of keys, in rows that are far apart.
  list.push_back({.name = "long, fused",
                  .sizes = {{70, 70}, {540, 540}, {0, 0}, {37, 37}},
                  .heads = 4,
                  .kv_heads = 4,
                  .dim = 8,
                  .dim_v = 8,
                  .band = causal,
                  .fused = true});
  list.push_back({.name = "long, positions",
                  .sizes = {{70, 600, 640, 151}},
                  .heads = 2,
                  .kv_heads = 1,
                  .dim = 20,
                  .dim_v = 12,
                  .band = causal});
  list.push_back({.name = "positions",
                  .sizes = {{40, 90, 200, 151}, {70, 70, 30, 30}, {3, 133, 200, 70}},
                  .band = {-100, 0},
                  .bias = 2,
                  .drop = 6554,
                  .slopes = true});
  const std::vector<Size> blocks = {{1, 1},         {7, 15},          {16, 16},      {33, 64},
                                    {64, 64},       {64, 65},         {65, 64},      {9, 0},
                                    {20, 41, 0, 8}, {20, 41, 70, 56}, {20, 41, 0, 3}};
  list.push_back({.name = "one block", .sizes = blocks, .dim = 32, .dim_v = 64, .sink = true});
  list.push_back({.name = "one block, causal, dropout",
                  .sizes = blocks,
                  .dim = 16,
                  .dim_v = 32,
                  .band = causal,
                  .drop = 13107,
                  .softcap = 2.0f});
  list.push_back({.name = "large scores", .sizes = {{60, 200}}, .range = 100.0f});
  list.push_back({.name = "long", .sizes = {{70, 1100}}, .heads = 1, .kv_heads = 1});
  return list;
}

}  // namespace rapt::kernels::testing

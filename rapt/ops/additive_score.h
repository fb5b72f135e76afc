// Additive scores (Bahdanau et al., 2015; docs/math/additive_score.md) of queries and keys that are
// projected already: S_ij = v_h . tanh(q_i + k_j) of each head and sentence.
#pragma once
#include "rapt/ops/heads.h"

namespace rapt::ops {

// v [q.count, q.dim]; query head h reads key head h / (q.count / k.count). The result is a table of
// scores: heads.h.
Var additive_score(Context& ctx, const Heads& q, const Heads& k, const Var& v);

}  // namespace rapt::ops

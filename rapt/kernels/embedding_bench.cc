#include "rapt/kernels/embedding.h"

#include <vector>

#include "rapt/kernels/bench_rows.h"
#include "rapt/kernels/gather_rows.h"

namespace rapt::kernels {
namespace {

constexpr size_t kVocabulary = 8000;

std::vector<int32_t> ids(size_t rows) {
  std::vector<int32_t> ids(rows);
  for (size_t r = 0; r < rows; ++r) ids[r] = static_cast<int32_t>(r * 2654435761u % kVocabulary);
  return ids;
}

void embedding(benchmark::State& state) {
  RowsBench b(state);
  const MatrixView<float> table(b.values(kVocabulary * b.d).data(), kVocabulary, b.d);
  const auto y = b.matrix();
  const std::vector<int32_t> tokens = ids(b.rows);
  b.run(2, [&](Pool& pool) {
    kernels::embedding({.table = table, .ids = tokens, .scale = 2.0f}, {}, y, pool);
  });
}
RAPT_BENCH_ROWS(embedding);

void embedding_backward(benchmark::State& state) {
  RowsBench b(state);
  const MatrixView<float> table(b.values(kVocabulary * b.d).data(), kVocabulary, b.d);
  const auto dy = b.matrix();
  const std::vector<int32_t> tokens = ids(b.rows);
  b.run(3, [&](Pool& pool) { scatter_add_rows(dy, tokens, 2.0f, {}, table, pool); });
}
RAPT_BENCH_ROWS(embedding_backward);

}  // namespace
}  // namespace rapt::kernels

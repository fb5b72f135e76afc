// Inference with a cache: what decoding uses.
#include <algorithm>

#include "rapt/models/transformer_impl.h"
#include "rapt/ops/gather_rows.h"

namespace rapt {
namespace {

void check_step(const State& state, const Lengths& lengths) {
  check(lengths.sequences() == state.hypotheses(), "step: lengths of ", lengths.sequences(),
        " hypotheses, the state has ", state.hypotheses());
  for (size_t s = 0; s < lengths.sequences(); ++s) {
    const size_t cached = state.cache().slots(static_cast<uint32_t>(s)).size();
    check(lengths[s].size > 0, "step: hypothesis ", s, " has no row");
    check(lengths[s].past == cached, "step: hypothesis ", s, " has a past of ", lengths[s].past,
          " rows, but ", cached, " are in the cache");
  }
  check(lengths.rows() <= state.cache().free_slots(), "step: ", lengths.rows(),
        " new rows, but the state has room for ", state.cache().free_slots());
}

// Rows of sources that are encoded at once, in each call.
constexpr size_t kRowsAtOnce = 256;

// The last row of each sequence.
Tensor last_rows(Context& ctx, const Tensor& x, const Lengths& lengths) {
  if (lengths.rows() == lengths.sequences()) return x;
  const Buffer<int32_t> rows = ctx.buffer<int32_t>(lengths.sequences());
  for (size_t s = 0; s < rows.size(); ++s) {
    rows[s] = static_cast<int32_t>(lengths.offset(s + 1) - 1);
  }
  return ops::gather_rows(ctx, x, rows.span()).value();
}

}  // namespace

State Transformer::make_state(size_t sequences, size_t max_rows) const {
  const ModelConfig& c = config();
  return State(c.decoder_layers, {c.key_heads() * c.key_dim(), c.key_heads() * c.value_dim()},
               sequences * max_rows);
}

void Transformer::Impl::open(Context& ctx, State& state, const Lengths& source,
                             std::span<const int32_t> ids) const {
  const Var memory = encode(ctx, ids, source);
  std::vector<std::shared_ptr<SourceMemory>> sentences;
  for (size_t s = 0; s < source.sequences(); ++s) {
    sentences.push_back(std::make_shared<SourceMemory>());
    sentences[s]->id = source[s].id;
    sentences[s]->rows = source[s].size;
  }
  for (size_t i = 0; i < decoder->size(); ++i) {
    const Tensor all = (*decoder)[i].memory_keys_values(ctx, memory).value();
    for (size_t s = 0; s < sentences.size(); ++s) {
      sentences[s]->keys_values.push_back(all.slice_rows(source.offset(s), source.offset(s + 1)));
    }
  }
  for (const auto& sentence : sentences) state.add(sentence->id, sentence);
}

void Transformer::open(Context& ctx, State& state, const Lengths& source,
                       std::span<const int32_t> ids) const {
  const Impl& m = *impl_;
  if (!m.config.has_encoder()) {
    check(source.rows() == 0, "open: ", source.rows(), " source rows for a decoder-only model");
    for (size_t s = 0; s < source.sequences(); ++s) state.add(source[s].id, nullptr);
    return;
  }
  m.check_ids("source", ids, source, m.source_vocabulary);
  // Some sentences at a time: what the encoder needs for them is no more than what a step needs.
  for (size_t first = 0, last; first < source.sequences(); first = last) {
    std::vector<Sequence> some{source[first]};
    for (last = first + 1; last < source.sequences(); ++last) {
      if (source.offset(last + 1) - source.offset(first) > kRowsAtOnce) break;
      some.push_back(source[last]);
    }
    const size_t begin = source.offset(first), end = source.offset(last);
    m.open(ctx, state, Lengths(std::move(some)), ids.subspan(begin, end - begin));
  }
}

Tensor Transformer::step(Context& ctx, State& state, const Lengths& lengths,
                         std::span<const int32_t> ids) const {
  const Impl& m = *impl_;
  check(!ctx.records(), "step: the context records; decoding needs one for inference");
  m.check_ids("step", ids, lengths, m.target_vocabulary);
  check_step(state, lengths);

  KVCache& cache = state.cache();
  const size_t n = lengths.sequences();
  const Buffer<int32_t> written = ctx.buffer<int32_t>(lengths.rows());
  const auto read = ctx.buffer<std::span<const int32_t>>(n);
  const auto memory = ctx.buffer<const SourceMemory*>(n);
  for (size_t s = 0; s < n; ++s) {
    const auto sequence = static_cast<uint32_t>(s);
    std::ranges::copy(cache.append(sequence, lengths[s].size), &written[lengths.offset(s)]);
    memory[s] = state.source(s).get();
    new (&read[s]) std::span<const int32_t>(cache.slots(sequence));
  }
  const auto layer_cache = [&](size_t i) {
    return nn::LayerCache{cache.keys(i), cache.values(i), written.span(), read.span()};
  };

  const Var x = (*m.target_embedding)(ctx, ids, lengths);
  Var y;
  if (m.decoder_only) {
    y = m.decoder_only->run(ctx, x, [&](size_t i, const nn::EncoderLayer& layer, const Var& in) {
      return layer.step(ctx, in, lengths, layer_cache(i));
    });
  } else {
    y = m.decoder->run(ctx, x, [&](size_t i, const nn::DecoderLayer& layer, const Var& in) {
      const auto keys_values = [&](size_t s) { return memory[s]->keys_values[i].matrix(); };
      return layer.step(ctx, in, lengths, layer_cache(i), keys_values);
    });
  }
  return (*m.output)(ctx, last_rows(ctx, y.value(), lengths)).value();
}

}  // namespace rapt

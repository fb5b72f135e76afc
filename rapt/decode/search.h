// Search over one batch: greedy and beam (Graves, 2012; score as in Wu et al., 2016, with the plain
// length^alpha), and sampling. A sentence gets the same result, bit for bit, alone and in any batch.
//
//   beam   score = sum of ln p, </s> included, divided by len^alpha. Ties: the lower parent, then
//          the lower id. A sentence is done when `nbest` hypotheses are finished and no live one
//          can still beat the worst of those kept.
//   sample candidates by falling probability, then id, cut by top-k, top-p, min-p. The draw of a
//          position has its own Philox counter (sentence, sample, position) under the seed.
#pragma once
#include <span>
#include <vector>

#include "rapt/decode/hypothesis.h"
#include "rapt/decode/vocabulary_filter.h"
#include "rapt/models/transformer.h"

namespace rapt {

// Most tokens of an output, </s> included: options.max_length or 2 * source + 50. An output that
// gets there without </s> is cut. An encoder–decoder stays within its positions, prefix and start
// symbol included; throws InvalidArgument for a source or prefix beyond them. A decoder-only model
// goes on by a window (live_set.h).
size_t length_limit(const Transformer& model, const DecodeOptions& options,
                    const Sentence& sentence);

// The best hypotheses of each sentence, best first, at most options.nbest.
std::vector<std::vector<Hypothesis>> beam_search(Context& ctx, const Transformer& model,
                                                 const VocabularyFilter& filter,
                                                 std::span<const Sentence> sentences,
                                                 const DecodeOptions& options);

// options.nbest samples of each sentence, in the order of their draw.
std::vector<std::vector<Hypothesis>> sample_search(Context& ctx, const Transformer& model,
                                                   const VocabularyFilter& filter,
                                                   std::span<const Sentence> sentences,
                                                   const DecodeOptions& options);

// Either, as the options say.
std::vector<std::vector<Hypothesis>> search(Context& ctx, const Transformer& model,
                                            const VocabularyFilter& filter,
                                            std::span<const Sentence> sentences,
                                            const DecodeOptions& options);

}  // namespace rapt

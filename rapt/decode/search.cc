#include "rapt/decode/search.h"

#include <algorithm>

namespace rapt {

size_t length_limit(const Transformer& model, const DecodeOptions& options,
                    const Sentence& sentence) {
  const size_t asked =
      options.max_length != 0 ? options.max_length : 2 * sentence.source.size() + 50;
  if (!model.config().has_encoder()) return asked;
  const size_t most = model.config().max_positions;
  check(sentence.source.size() <= most, "the input has ", sentence.source.size(),
        " tokens, the model takes ", most);
  check(sentence.prefix.size() < most, "the prefix has ", sentence.prefix.size(),
        " tokens, the model takes ", most - 1);
  // What comes out can be read again, start symbol included: by score, by explain.
  return std::min(asked, std::max<size_t>(1, most - 1 - sentence.prefix.size()));
}

std::vector<std::vector<Hypothesis>> search(Context& ctx, const Transformer& model,
                                            const VocabularyFilter& filter,
                                            std::span<const Sentence> sentences,
                                            const DecodeOptions& options) {
  return options.sample ? sample_search(ctx, model, filter, sentences, options)
                        : beam_search(ctx, model, filter, sentences, options);
}

}  // namespace rapt

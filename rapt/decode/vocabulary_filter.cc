#include "rapt/decode/vocabulary_filter.h"

namespace rapt {

VocabularyFilter::VocabularyFilter(const TextSide& target, const DecodeOptions& options)
    : allowed_(target.size(), 1),
      eos_(target.ids().eos),
      decoder_start_(target.ids().decoder_start) {
  const SpecialIds& ids = target.ids();
  const auto forbid = [&](int32_t id) { allowed_[static_cast<size_t>(id)] = 0; };
  if (ids.pad) forbid(*ids.pad);
  forbid(ids.bos);
  for (const int32_t id : ids.suppressed) forbid(id);
  if (!options.allow_unk) forbid(ids.unk);
  // A stream may start with a symbol of its text, such as the newline; that one stays.
  if (target.newline() != ids.decoder_start && ids.decoder_start != ids.eos) {
    forbid(ids.decoder_start);
  }
  allowed_[static_cast<size_t>(ids.eos)] = 1;
}

}  // namespace rapt

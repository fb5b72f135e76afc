// The checks of a SentencePiece model that the library leaves out. Debian 12's version follows the
// units of the normaliser's trie wherever they point (CVE-2026-1260).
#pragma once
#include <string_view>

namespace rapt {

// Throws IoError, which starts with `name`, unless `model` is a ModelProto within limits: at most
// 64 MiB, 1 to 2^20 pieces of known types with finite scores, exactly one unknown piece, byte pieces
// all or none, and normaliser maps whose every unit stays inside.
void check_sentencepiece_model(std::string_view model, std::string_view name);

}  // namespace rapt

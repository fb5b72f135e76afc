// Decoding in the middle of a training: metrics of outputs, and three of them to show.
#pragma once
#include <atomic>
#include <string>

#include "rapt/models/model_directory.h"
#include "rapt/text/corpus.h"
#include "rapt/train/observer.h"

namespace rapt::app {

// Greedy output for pairs: all of them when `metric` compares outputs, three of them when not.
DecodeFunction decode_pairs(const Model& model, const ParallelCorpus& pairs, std::string metric,
                            const std::atomic<bool>& stop, Pool& pool);

// Decoder-only: three starts of lines of the text, and how the model goes on with them.
DecodeFunction continue_lines(const Model& model, const TextStream& text, size_t context,
                              Pool& pool);

}  // namespace rapt::app

// The average of several checkpoints' weights (Vaswani et al., 2017, averaged the last 5 or 20):
// the mean of each value, summed in double in the order given, rounded once.
#pragma once
#include <span>

#include "rapt/io/safetensors.h"

namespace rapt {

// Throws InvalidArgument without files, IoError (names both files) when their tensors differ in name
// or shape.
TensorMap average_weights(std::span<const fs::path> files);

}  // namespace rapt

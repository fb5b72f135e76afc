// rapt train --prepare: what a run would start from and see, for a comparison with another trainer.
#pragma once
#include "rapt/models/transformer.h"
#include "rapt/text/batches.h"
#include "rapt/train/options.h"

namespace rapt::app {

// Writes the untrained weights to model.safetensors, and batches.jsonl: one line an update of the
// run, {"epoch": from 1, "shards": [[item, …], …]}, items by line from 0 (decoder-only: windows).
void prepare(const fs::path& directory, const Transformer& model, const BatchPlan& plan,
             const TrainOptions& options);

}  // namespace rapt::app

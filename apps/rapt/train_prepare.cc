#include "apps/rapt/train_prepare.h"

#include "rapt/models/model_directory.h"

namespace rapt::app {
namespace {

Json items_of(const Update& update) {
  Json shards = Json::array();
  for (const Shard& shard : update.shards) {
    Json items = Json::array();
    for (size_t s = 0; s < shard.target.sequences(); ++s) items.push_back(shard.target[s].id);
    shards.push_back(std::move(items));
  }
  return shards;
}

}  // namespace

void prepare(const fs::path& directory, const Transformer& model, const BatchPlan& plan,
             const TrainOptions& options) {
  save_weights(directory / "model.safetensors", model.parameters());
  AtomicFile file(directory / "batches.jsonl");
  uint64_t step = 0;
  const auto over = [&] { return options.steps > 0 && step >= options.steps; };
  const uint64_t last = options.last_epoch();
  for (uint64_t epoch = 0; (last == 0 || epoch < last) && !over(); ++epoch) {
    for (uint64_t i = 0; i < plan.updates(epoch) && !over(); ++i, ++step) {
      const Json line = {{"epoch", epoch + 1}, {"shards", items_of(plan.at(epoch, i))}};
      file.write(line.dump() + "\n");
    }
  }
  file.commit();
}

}  // namespace rapt::app

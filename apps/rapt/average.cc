// rapt average: the mean of the last checkpoints' weights as a model of its own.
#include <algorithm>
#include <iostream>

#include "apps/rapt/command_line.h"
#include "apps/rapt/exit_codes.h"
#include "apps/rapt/output.h"
#include "rapt/io/atomic_directory.h"
#include "rapt/train/averaging.h"
#include "rapt/train/checkpoint.h"

namespace rapt::app {
namespace {

constexpr const char* kWeights = "model.safetensors";

// The weights of the last checkpoints, each of which must be whole.
std::vector<fs::path> last_weights(const fs::path& model, size_t last) {
  const CheckpointStore store(model / "checkpoints");
  std::vector<uint64_t> steps = store.steps();
  check<IoError>(!steps.empty(), store.folder().string(), ": no checkpoints to average");
  check<IoError>(last <= steps.size(), store.folder().string(), ": has ", steps.size(),
                 " checkpoint", plural(steps.size()), ", not ", last,
                 "; `rapt train --keep-last N` keeps more");
  if (last > 0) steps.erase(steps.begin(), steps.end() - static_cast<ptrdiff_t>(last));
  std::vector<fs::path> files;
  for (const uint64_t step : steps) files.push_back(store.load(step).weights());
  return files;
}

// config.json and vocabularies: what is beside the weights and does not grow in training.
void copy_description(const fs::path& model, const fs::path& out) {
  for (const fs::directory_entry& entry : fs::directory_iterator(model)) {
    const fs::path name = entry.path().filename();
    if (!entry.is_regular_file() || name == kWeights || name == "metrics.jsonl") continue;
    fs::copy_file(entry.path(), out / name);
  }
}

}  // namespace

int average_main(const Arguments& arguments) {
  CommandLine app(
      "average",
      "Averages the weights of a training's last checkpoints and writes them as a model "
      "directory.",
      "rapt average --model g2p --last 3 --out g2p-average");
  std::string model, out;
  size_t last = 0;
  std::vector<std::string> weights;
  app.add_option("--model", model, "model directory with checkpoints")->required();
  app.add_option("--out", out, "model directory to write; must not exist")->required();
  auto* count = app.add_option("--last", last, "how many of the last checkpoints; 0: all")
                    ->check(in_range({0, 1e9}))
                    ->capture_default_str();
  app.add_option("--weights", weights, "these files instead of checkpoints")->excludes(count);
  if (!app.parse_arguments(arguments)) return kDone;

  check(!fs::exists(out), "--out ", out, " exists; choose another directory or remove it");
  check<IoError>(fs::exists(fs::path(model) / "config.json"), model,
                 " is no model directory: config.json is missing");
  const std::vector<fs::path> files = weights.empty()
                                          ? last_weights(model, last)
                                          : std::vector<fs::path>(weights.begin(), weights.end());
  const TensorMap average = average_weights(files);
  AtomicDirectory directory(out);
  copy_description(model, directory.staged());
  write_safetensors(directory.staged() / kWeights, average);
  directory.commit();
  std::cerr << "rapt: averaged " << files.size() << " file" << plural(files.size()) << " into "
            << out << '\n';
  for (const fs::path& file : files) std::cerr << "  " << file.string() << '\n';
  return kDone;
}

}  // namespace rapt::app

// Checkpoints of a run: checkpoints/step-00001234/{model,ema,optimizer}.safetensors, state.json,
// manifest.json. A checkpoint appears whole or not at all, and carries the size and the SHA-256 of
// each of its files, so that one which was damaged later is found out and named, and the one before
// it is used.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "rapt/io/safetensors.h"
#include "rapt/train/run_state.h"

namespace rapt {

// The step of a folder's name, "step-00001234"; nothing for another name.
std::optional<uint64_t> step_of_name(std::string_view name);
std::string name_of_step(uint64_t step);

struct Checkpoint {
  fs::path path;
  RunState state;
  Json identity;  // what the run was told (run_identity.h)

  fs::path weights() const;  // those that are validated and decoded with: ema, or else model
  bool has_ema() const;
};

class CheckpointStore {
 public:
  explicit CheckpointStore(fs::path folder) : folder_(std::move(folder)) {}

  // `write` puts the tensors into the directory that it is given; the rest is added here. Throws
  // IoError, then nothing has changed.
  void save(const RunState& state, const Json& identity,
            const std::function<void(const fs::path& directory)>& write) const;

  // The newest whole one. Newer ones that are damaged or incomplete are named, with the reason, in
  // `refused`. Throws IoError when there are some but none is whole.
  std::optional<Checkpoint> newest(std::vector<std::string>& refused) const;
  Checkpoint load(uint64_t step) const;  // throws IoError, with the reason, unless it is whole

  // After a checkpoint of `step` was saved: removes all but the last `keep_last` up to it and the
  // best; what a killed process left half-written; and those of later steps, which were refused when
  // the run went on from before them, and which it will reach again.
  void prune(uint64_t step, size_t keep_last, std::optional<uint64_t> best) const;

  std::vector<uint64_t> steps() const;  // those there are, whole or not, rising
  fs::path path(uint64_t step) const { return folder_ / name_of_step(step); }
  const fs::path& folder() const { return folder_; }

 private:
  fs::path folder_;
};

}  // namespace rapt

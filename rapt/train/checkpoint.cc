#include "rapt/train/checkpoint.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <ranges>
#include <system_error>

#include "rapt/base/check.h"
#include "rapt/io/atomic_directory.h"
#include "rapt/train/sha256.h"

namespace rapt {
namespace {

constexpr std::string_view kPrefix = "step-";
constexpr int64_t kVersion = 1;
constexpr const char *kManifest = "manifest.json", *kState = "state.json";
constexpr const char *kModel = "model.safetensors", *kEma = "ema.safetensors";

void write_manifest(const fs::path& directory) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  Json files = Json::object();
  for (const std::string& name : names) {
    files[name] = {{"size", fs::file_size(directory / name)},
                   {"sha256", sha256_of_file(directory / name)}};
  }
  write_json(directory / kManifest, {{"format_version", kVersion}, {"files", files}});
}

void check_files(const fs::path& directory) {
  const Json json = read_json(directory / kManifest);
  const JsonObject manifest(json, (directory / kManifest).string());
  const int64_t version = manifest.integer("format_version", 1, 1 << 30);
  check<IoError>(version == kVersion, manifest.name(), ": format_version is ", version,
                 ", expected ", kVersion, ": written by another version of rapt");
  const JsonObject files = manifest.object("files");
  for (const char* needed : {kModel, "optimizer.safetensors", kState}) {
    check<IoError>(files.has(needed), files.name(), ": ", needed, " is not listed");
  }
  for (const auto& [name, value] : manifest.at("files").items()) {
    check<IoError>(fs::path(name).filename() == name, files.name(), ": not a file name: ", name);
    const fs::path path = directory / name;
    const JsonObject entry(value, files.name() + ": " + name);
    const auto size = static_cast<uint64_t>(entry.integer("size", 0, INT64_MAX));
    const uint64_t found = InputFile(path).size();
    check<IoError>(found == size, path.string(), ": has ", found, " bytes, expected ", size,
                   ": damaged or incomplete");
    check<IoError>(sha256_of_file(path) == entry.string("sha256"), path.string(),
                   ": damaged, its SHA-256 is not the one in ", kManifest);
  }
}

}  // namespace

std::optional<uint64_t> step_of_name(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  uint64_t step = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), step);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return step;
}

std::string name_of_step(uint64_t step) {
  char text[32];
  std::snprintf(text, sizeof text, "step-%08llu", static_cast<unsigned long long>(step));
  return text;
}

bool Checkpoint::has_ema() const { return fs::exists(path / kEma); }
fs::path Checkpoint::weights() const { return path / (has_ema() ? kEma : kModel); }

std::vector<uint64_t> CheckpointStore::steps() const {
  std::vector<uint64_t> steps;
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, none)) {
    const std::string name = entry.path().filename().string();
    if (const auto step = step_of_name(name); step && name == name_of_step(*step)) {
      steps.push_back(*step);
    }
  }
  std::ranges::sort(steps);
  return steps;
}

void CheckpointStore::save(const RunState& state, const Json& identity,
                           const std::function<void(const fs::path&)>& write) const {
  AtomicDirectory directory(path(state.step));
  write(directory.staged());
  write_json(directory.staged() / kState,
             {{"format_version", kVersion}, {"state", to_json(state)}, {"identity", identity}});
  write_manifest(directory.staged());
  directory.commit();
}

Checkpoint CheckpointStore::load(uint64_t step) const {
  Checkpoint checkpoint{path(step), {}, {}};
  check_files(checkpoint.path);
  const Json json = read_json(checkpoint.path / kState);
  const JsonObject object(json, (checkpoint.path / kState).string());
  checkpoint.state = run_state_of_json(object.object("state"));
  checkpoint.identity = object.at("identity");
  check<IoError>(checkpoint.state.step == step, object.name(), ": step is ", checkpoint.state.step,
                 ", expected ", step);
  return checkpoint;
}

std::optional<Checkpoint> CheckpointStore::newest(std::vector<std::string>& refused) const {
  for (const uint64_t step : steps() | std::views::reverse) {
    try {
      return load(step);
    } catch (const IoError& error) {
      refused.push_back(error.what());
    }
  }
  check<IoError>(refused.empty(), "no checkpoint in ", folder_.string(),
                 " is whole: ", refused.empty() ? "" : refused.front(),
                 "; remove the directory to train from the start");
  return std::nullopt;
}

void CheckpointStore::prune(uint64_t step, size_t keep_last, std::optional<uint64_t> best) const {
  const std::vector<uint64_t> all = steps();
  const auto later = std::ranges::upper_bound(all, step);
  const auto kept = later - static_cast<ptrdiff_t>(std::min<size_t>(
                                keep_last, static_cast<size_t>(later - all.begin())));
  for (auto it = all.begin(); it != all.end(); ++it) {
    if ((it >= kept && it < later) || *it == best) continue;
    // Under its name a checkpoint is whole: it leaves its name first, then the disk.
    fs::path leaving = path(*it);
    leaving += ".tmp";
    std::error_code error;
    fs::rename(path(*it), leaving, error);
    check<IoError>(!error, path(*it).string(), ": cannot remove: ", error.message());
  }
  remove_staged(folder_);
}

}  // namespace rapt

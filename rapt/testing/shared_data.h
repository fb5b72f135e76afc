// Real data for tests that want more than made-up lines: not part of the project, so such a test skips
// where there is none.
#pragma once
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

namespace rapt {

// The path of a file of the data folder: $RAPT_DATA, or shared/data beside the checkout, found from the
// folder of the running test upwards. Nothing: the data is not there.
//   const auto path = shared_data("multi30k/tok/val.lc.norm.tok.de");
//   if (!path) GTEST_SKIP() << kNoSharedData;
inline std::optional<std::filesystem::path> shared_data(std::string_view name) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (const char* root = std::getenv("RAPT_DATA"); root != nullptr && *root != '\0') {
    const fs::path path = fs::path(root) / name;
    return fs::exists(path, error) ? std::optional(path) : std::nullopt;
  }
  for (fs::path folder = fs::read_symlink("/proc/self/exe", error); folder.has_relative_path();) {
    folder = folder.parent_path();
    const fs::path path = folder / "shared" / "data" / name;
    if (fs::exists(path, error)) return path;
  }
  return {};
}

inline constexpr const char* kNoSharedData =
    "no shared data: set RAPT_DATA, or put it into shared/data beside the checkout";

}  // namespace rapt

#include "rapt/io/atomic_directory.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "rapt/base/check.h"

namespace rapt {
namespace {

constexpr const char* kSuffix = ".tmp";

[[noreturn]] void fail(const fs::path& path, std::string_view what, const std::error_code& error) {
  throw IoError(concat(path.string(), ": ", what, ": ", error.message()));
}

std::error_code last_error() { return {errno, std::generic_category()}; }

void sync_tree(const fs::path& folder) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory()) {
      sync_tree(entry.path());
      continue;
    }
    const int fd = ::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
    const bool done = fd >= 0 && ::fsync(fd) == 0;
    const std::error_code error = last_error();
    if (fd >= 0) ::close(fd);
    if (!done) fail(entry.path(), "cannot sync", error);
  }
  sync_directory(folder);
}

}  // namespace

AtomicDirectory::AtomicDirectory(const fs::path& path) : path_(path) {
  if (!path_.has_filename()) path_ = path_.parent_path();  // "model/"
  staged_ = path_;
  staged_ += kSuffix;
  std::error_code error;
  fs::remove_all(staged_, error);
  if (!error) fs::create_directories(staged_, error);
  if (error) fail(staged_, "cannot make the directory", error);
}

AtomicDirectory::~AtomicDirectory() {
  std::error_code ignored;
  if (open_) fs::remove_all(staged_, ignored);
}

void AtomicDirectory::commit() {
  check(open_, path_.string(), ": committed twice");
  sync_tree(staged_);
  if (fs::is_directory(path_)) {
    // Exchanged, the old directory is under the staged name, and goes after that.
    if (::renameat2(AT_FDCWD, staged_.c_str(), AT_FDCWD, path_.c_str(), RENAME_EXCHANGE) != 0) {
      const std::error_code error = last_error();
      if (error.value() != EINVAL && error.value() != ENOSYS) fail(path_, "cannot replace", error);
      // A file system that cannot exchange: for a moment there is only the staged one.
      std::error_code failed;
      fs::remove_all(path_, failed);
      if (!failed) fs::rename(staged_, path_, failed);
      if (failed) fail(path_, "cannot replace", failed);
    }
  } else if (::rename(staged_.c_str(), path_.c_str()) != 0) {
    fail(path_, "cannot rename the staged directory", last_error());
  }
  open_ = false;
  sync_directory(path_.has_parent_path() ? path_.parent_path() : fs::path("."));
  std::error_code ignored;
  fs::remove_all(staged_, ignored);
}

void remove_staged(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) return;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory() && entry.path().extension() == kSuffix) {
      fs::remove_all(entry.path(), ignored);
    }
  }
}

}  // namespace rapt

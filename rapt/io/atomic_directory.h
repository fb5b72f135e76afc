// A directory that appears under its name only when whole: files are written into a staged one
// beside it ("NAME.tmp"), synced, and the directory is renamed. A crash at any moment leaves the
// old directory or the new one.
#pragma once
#include "rapt/base/file.h"

namespace rapt {

class AtomicDirectory {
 public:
  explicit AtomicDirectory(const fs::path& path);  // makes the staged one, and missing parents
  ~AtomicDirectory();                              // without commit() nothing remains
  AtomicDirectory(const AtomicDirectory&) = delete;
  AtomicDirectory& operator=(const AtomicDirectory&) = delete;

  const fs::path& staged() const { return staged_; }  // write here
  void commit();  // replaces `path`, in one step where there is one

 private:
  fs::path path_, staged_;
  bool open_ = true;
};

// Staged directories that a killed process left in `folder`.
void remove_staged(const fs::path& folder);

}  // namespace rapt

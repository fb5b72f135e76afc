// A model of random weights in a directory of its own, that goes when the object goes.
#pragma once
#include <string>

#include "rapt/base/file.h"

namespace rapt::app::bench {

class TemporaryDirectory {
 public:
  TemporaryDirectory();  // throws IoError
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// An encoder-decoder of config_of_size() over `vocabulary` symbols, words "w0", "w1", … of both
// sides. Written by a process of its own, so that its memory does not count here: call it before
// any thread runs.
void write_random_model(const fs::path& directory, const std::string& size, size_t vocabulary);

double directory_mb(const fs::path& directory);  // of its files

}  // namespace rapt::app::bench

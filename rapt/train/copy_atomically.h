// A copy that appears under its name only when whole.
#pragma once
#include "rapt/base/file.h"

namespace rapt {

void copy_atomically(const fs::path& from, const fs::path& to);  // throws IoError

}  // namespace rapt

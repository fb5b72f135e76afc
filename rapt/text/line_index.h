// Where the lines of a file start: what the classes of corpus.h are built on.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rapt/base/file.h"

namespace rapt {

// starts[i] is the first byte of line i; line i ends one byte (its newline, real or not) before
// starts[i + 1]. Reads the file once and checks UTF-8 and, unless 0, the number of columns.
std::vector<uint64_t> index_lines(const InputFile& file, std::string_view name, size_t columns);

// The text of a line that lies in [begin, end): without the "\r" of "\r\n".
std::string line_text(const InputFile& file, uint64_t begin, uint64_t end);

}  // namespace rapt

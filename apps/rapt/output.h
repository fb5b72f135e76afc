// Standard output, and what else a terminal program needs to know of its surroundings.
#pragma once
#include <stdexcept>
#include <string>
#include <string_view>

#include "rapt/io/json.h"

namespace rapt::app {

// The reader of stdout has gone: the program ends quietly with kClosedPipe.
class ClosedPipe : public std::exception {};

// Buffered; throws ClosedPipe, or IoError when stdout cannot be written (a full disk).
void print(std::string_view text);
void print_line(std::string_view text);
void print_json(const Json& value);  // one line
void flush();

bool stdin_is_terminal();
bool stdout_is_terminal();
bool stderr_is_terminal();
size_t terminal_width();  // columns of stderr or stdout, 80 when unknown

// "s" unless n is 1: "3 lines", "1 line".
inline const char* plural(uint64_t n) { return n == 1 ? "" : "s"; }

}  // namespace rapt::app

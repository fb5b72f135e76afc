// The reading loop of commands that answer lines: what has been read is answered as soon as no
// further input waits, and the lines before a bad one are answered before its error.
#pragma once
#include <exception>
#include <string>

#include "apps/rapt/output.h"
#include "rapt/base/check.h"
#include "rapt/base/file.h"

namespace rapt::app {

// take(line) for each line, at most a few thousand at a time, then answer() for those it took. An
// Error that take() throws is thrown again when the lines before it are answered and flushed.
template <class Take, class Answer>
void answer_lines(LineReader& reader, const Take& take, const Answer& answer) {
  constexpr size_t kLinesAtOnce = 4096;
  std::string line;
  bool more = reader.next(line);
  while (more) {
    std::exception_ptr bad_line;
    size_t taken = 0;
    try {
      do {
        take(line);
      } while (++taken < kLinesAtOnce && reader.ready() && (more = reader.next(line)));
    } catch (const Error&) {
      bad_line = std::current_exception();
    }
    answer();
    flush();
    if (bad_line) std::rethrow_exception(bad_line);
    if (more) more = reader.next(line);
  }
}

}  // namespace rapt::app

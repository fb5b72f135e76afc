#include "apps/rapt/output.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "rapt/base/check.h"

namespace rapt::app {
namespace {

void check_written(bool ok) {
  if (ok) return;
  if (errno == EPIPE) throw ClosedPipe();
  throw IoError(concat("stdout: cannot write: ", std::strerror(errno)));
}

}  // namespace

void print(std::string_view text) {
  check_written(std::fwrite(text.data(), 1, text.size(), stdout) == text.size());
}
void print_line(std::string_view text) {
  print(text);
  print("\n");
}
void print_json(const Json& value) { print_line(value.dump()); }
void flush() { check_written(std::fflush(stdout) == 0); }

bool stdin_is_terminal() { return isatty(STDIN_FILENO) != 0; }
bool stdout_is_terminal() { return isatty(STDOUT_FILENO) != 0; }
bool stderr_is_terminal() { return isatty(STDERR_FILENO) != 0; }

size_t terminal_width() {
  for (const int fd : {STDERR_FILENO, STDOUT_FILENO}) {
    winsize size{};
    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  }
  return 80;
}

}  // namespace rapt::app

// Errors: what the caller got wrong, what the world got wrong, and the one-line test for both.
#pragma once
#include <sstream>
#include <stdexcept>
#include <string>

namespace rapt {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The caller's mistake: a wrong shape, an unknown option. The program exits with 2.
class InvalidArgument : public Error {
 public:
  using Error::Error;
};

// The world's fault: a missing file, a full disk, a damaged model. The program exits with 1.
class IoError : public Error {
 public:
  using Error::Error;
};

// The values, printed one after another.
template <class... Args>
std::string concat(const Args&... args) {
  std::ostringstream out;
  (out << ... << args);
  return out.str();
}

// Throws E with the message unless `ok`. The message names the thing, what was met and what was
// expected: check(gamma.shape() == d, "layer_norm: gamma is ", gamma.shape(), ", expected ", d).
template <class E = InvalidArgument, class... Args>
void check(bool ok, const Args&... args) {
  if (!ok) [[unlikely]]
    throw E(concat(args...));
}

}  // namespace rapt

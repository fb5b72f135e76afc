// What the program tells its caller (docs/contracts.md, "Failure").
#pragma once

namespace rapt::app {

inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;         // the work failed, or `check` found a difference
inline constexpr int kMistake = 2;        // the caller's: options, missing arguments
inline constexpr int kInterrupted = 130;  // SIGINT, saved
inline constexpr int kTerminated = 143;   // SIGTERM, saved
inline constexpr int kClosedPipe = 141;   // nobody reads stdout any more

}  // namespace rapt::app

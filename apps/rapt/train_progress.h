// What the caller of `rapt train` sees on stderr: a progress bar on a terminal, lines elsewhere.
#pragma once
#include <spdlog/logger.h>

#include <chrono>
#include <memory>
#include <string>

#include "rapt/train/observer.h"

namespace rapt::app {

class TrainProgress : public TrainObserver {
 public:
  TrainProgress(bool terminal, size_t threads);
  ~TrainProgress() override { clear_bar(); }

  void say(const std::string& line);   // what the run is about
  void warn(const std::string& line);  // what the caller should know

  void started(const RunStart& start) override;
  void stepped(const Progress& progress) override;
  void trained(const TrainLine& line) override;
  void validated(const ValidLine& line) override;
  void warned(const std::string& message) override { warn(message); }

 private:
  using Clock = std::chrono::steady_clock;

  void clear_bar();

  bool terminal_;
  size_t threads_;
  std::shared_ptr<spdlog::logger> log_;
  bool bar_ = false;  // the last thing written is a bar
  Clock::time_point last_bar_{};
};

std::string bytes_text(size_t bytes);       // "1.2 GB"
std::string duration_text(double seconds);  // "1:23:45", "2:05", "0:07"
// "epoch 3  41 % ━━━━━━━━──────────── step 1234  loss 2.310  12.3k tokens/s  1:23 left", at most
// `width` columns.
std::string bar_text(const Progress& progress, size_t width);

}  // namespace rapt::app

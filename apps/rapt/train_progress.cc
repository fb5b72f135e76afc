#include "apps/rapt/train_progress.h"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "apps/rapt/output.h"
#include "rapt/metrics/metric.h"

namespace rapt::app {
namespace {

constexpr std::chrono::milliseconds kBarEvery(100);

std::string count_text(double n) {
  if (n < 1e3) return fmt::format("{:.0f}", n);
  if (n < 1e6) return fmt::format("{:.1f}k", n / 1e3);
  return fmt::format("{:.1f}M", n / 1e6);
}

// "  experts 18 to 34 %", the least and the most that one of a layer was chosen.
std::string experts_text(const std::vector<ExpertUse>& layers) {
  if (layers.empty()) return "";
  double least = 1, most = 0;
  for (const ExpertUse& layer : layers) {
    const auto [low, high] = std::ranges::minmax(layer.load);
    least = std::min(least, low);
    most = std::max(most, high);
  }
  return fmt::format("  experts {:.0f} to {:.0f} %", 100 * least, 100 * most);
}

}  // namespace

std::string bytes_text(size_t bytes) {
  constexpr std::array kUnits = {"B", "kB", "MB", "GB", "TB"};
  auto size = static_cast<double>(bytes);
  size_t unit = 0;
  while (size >= 1000 && unit + 1 < kUnits.size()) {
    size /= 1000;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", size, size < 10 && unit > 0 ? 1 : 0, kUnits[unit]);
}

std::string duration_text(double seconds) {
  const auto s = static_cast<uint64_t>(std::clamp(seconds, 0.0, 1e9));
  const uint64_t hours = s / 3600, minutes = s / 60 % 60;
  return hours > 0 ? fmt::format("{}:{:02}:{:02}", hours, minutes, s % 60)
                   : fmt::format("{}:{:02}", minutes, s % 60);
}

std::string bar_text(const Progress& p, size_t width) {
  const std::string left = fmt::format("epoch {} {:3.0f} % ", p.epoch, std::floor(100 * p.done));
  const std::string right =
      fmt::format(" step {}  loss {:.3f}  {} tokens/s  {} left", p.step, p.loss,
                  count_text(p.tokens_per_s), duration_text(p.seconds_left));
  const size_t used = left.size() + right.size();
  if (used + 4 > width) return (left + right).substr(0, width);
  const size_t cells = std::min<size_t>(width - used, 40);
  const auto full = static_cast<size_t>(p.done * static_cast<double>(cells));
  std::string bar;
  for (size_t i = 0; i < cells; ++i) bar += i < full ? "━" : "─";
  return left + bar + right;
}

TrainProgress::TrainProgress(bool terminal, size_t threads)
    : terminal_(terminal),
      threads_(threads),
      log_(std::make_shared<spdlog::logger>("rapt",
                                            std::make_shared<spdlog::sinks::stderr_sink_mt>())) {
  log_->set_pattern("[%H:%M:%S] %v");
  log_->flush_on(spdlog::level::info);
}

void TrainProgress::clear_bar() {
  if (!bar_) return;
  std::fputs("\r\033[K", stderr);
  bar_ = false;
}

void TrainProgress::say(const std::string& line) {
  clear_bar();
  log_->info("{}", line);
}
void TrainProgress::warn(const std::string& line) { say("warning: " + line); }

void TrainProgress::started(const RunStart& start) {
  say(fmt::format("{} parameters, about {} of memory, {} updates an epoch, {} thread{}",
                  count_text(static_cast<double>(start.parameters)), bytes_text(start.memory),
                  start.epoch_steps, threads_, plural(threads_)));
}

void TrainProgress::stepped(const Progress& progress) {
  if (!terminal_ || Clock::now() - last_bar_ < kBarEvery) return;
  last_bar_ = Clock::now();
  const std::string bar = bar_text(progress, terminal_width() - 1);
  std::fprintf(stderr, "\r%s\033[K", bar.c_str());
  std::fflush(stderr);
  bar_ = true;
}

void TrainProgress::trained(const TrainLine& line) {
  if (terminal_) return;
  say(fmt::format("epoch {}  step {}  loss {:.4f}  lr {:.3g}  norm {:.3g}  {} tokens/s{}",
                  line.epoch, line.step, line.loss, line.lr, line.grad_norm,
                  count_text(line.tokens_per_s), experts_text(line.experts)));
}

void TrainProgress::validated(const ValidLine& line) {
  std::string text = fmt::format("epoch {}  step {}  validation: loss {:.4f}  perplexity {:.4g}",
                                 line.epoch, line.step, line.loss, line.perplexity);
  for (const auto& [name, value] : line.decoded) {
    const metrics::Metric& metric = metrics::find_metric(name);
    text += fmt::format("  {} {:.2f}{}{}", metric.title, value, metric.unit.empty() ? "" : " ",
                        metric.unit);
  }
  say(text + (line.best ? "  (best so far)" : ""));
  for (const Sample& sample : line.samples) {
    say(fmt::format("    {} -> {}{}", sample.source, sample.output,
                    sample.reference.empty()            ? ""
                    : sample.reference == sample.output ? "  (right)"
                                                        : "  (right: " + sample.reference + ")"));
  }
}

}  // namespace rapt::app

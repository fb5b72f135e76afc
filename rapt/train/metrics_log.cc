#include "rapt/train/metrics_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "rapt/base/check.h"

namespace rapt {
namespace {

constexpr uint64_t kMaxBytes = uint64_t{4} << 30;

// The lines of `text` up to the first one that is later than `step` or not whole.
std::string lines_until(std::string_view text, uint64_t step, double& seconds) {
  size_t kept = 0;
  while (kept < text.size()) {
    const size_t end = text.find('\n', kept);
    if (end == std::string_view::npos) break;
    const Json line = Json::parse(text.substr(kept, end - kept), nullptr, /*exceptions=*/false);
    const auto found = line.is_object() ? line.find("step") : line.end();
    if (!line.is_object() || found == line.end() || !found->is_number_unsigned()) break;
    if (found->get<uint64_t>() > step) break;
    if (const auto s = line.find("seconds"); s != line.end() && s->is_number()) {
      seconds = s->get<double>();
    }
    kept = end + 1;
  }
  return std::string(text.substr(0, kept));
}

}  // namespace

MetricsLog::MetricsLog(fs::path path, uint64_t step) : path_(std::move(path)) {
  if (!fs::exists(path_)) return;
  if (step == 0) {
    fs::remove(path_);
    return;
  }
  const std::string old = read_file(path_, kMaxBytes);
  const std::string kept = lines_until(old, step, seconds_);
  if (kept != old) write_file(path_, kept);
}

void MetricsLog::append(const Json& line) {
  const std::string text = line.dump() + '\n';
  const int fd = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  const ssize_t written = fd < 0 ? -1 : ::write(fd, text.data(), text.size());
  const std::error_code error(written < 0 ? errno : ENOSPC, std::generic_category());
  if (fd >= 0) ::close(fd);
  check<IoError>(written == static_cast<ssize_t>(text.size()), path_.string(),
                 ": cannot add a line: ", error.message());
}

}  // namespace rapt

#include "apps/rapt/insight_output.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "rapt/base/check.h"
#include "rapt/plot/data.h"
#include "rapt/plot/svg.h"

extern char** environ;

namespace rapt::app {
namespace {

constexpr const char* kConverter = "rsvg-convert";

// Runs a program found in PATH, quietly, and returns its exit code; -1 when there is none.
int run_program(std::vector<std::string> arguments) {
  std::vector<char*> argv;
  for (std::string& a : arguments) argv.push_back(a.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int error = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error == ENOENT) return -1;
  check<IoError>(error == 0, argv[0], ": ", std::strerror(error));
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    check<IoError>(errno == EINTR, argv[0], ": ", std::strerror(errno));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void check_converter(const std::string& out) {
  check<IoError>(run_program({kConverter, "--version"}) != -1, out, ": ", kConverter,
                 " is not there; install the package librsvg2-bin, or write .svg");
}

// A folder of temporary files, gone at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "rapt-XXXXXX").string();
    check<IoError>(mkdtemp(name.data()) != nullptr, name, ": ", std::strerror(errno));
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  fs::path operator/(std::string_view name) const { return path_ / name; }

 private:
  fs::path path_;
};

void convert(const fs::path& out, const plot::Figure& figure, size_t width) {
  const std::string format = out.extension().string().substr(1);
  const TemporaryFolder folder;
  const fs::path source = folder / "figure.svg", target = folder / "figure";
  write_file(source, plot::to_svg(figure, plot::Theme::kLight));
  std::vector<std::string> command = {kConverter, "--format", format, "--output", target.string()};
  if (width > 0) {
    command.insert(command.end(), {"--width", std::to_string(width), "--keep-aspect-ratio"});
  } else if (format == "png") {
    command.insert(command.end(), {"--zoom", "2"});
  }
  command.push_back(source.string());
  const int code = run_program(command);
  check<IoError>(code == 0, out.string(), ": ", kConverter, " failed with exit code ", code);
  write_file(out, read_file(target, uint64_t{1} << 30));
}

}  // namespace

void check_figure_path(const std::string& out) {
  const fs::path path = out;
  const std::string extension = path.extension().string();
  check(extension == ".svg" || extension == ".pdf" || extension == ".png" || extension == ".csv" ||
            extension == ".json",
        "--out is '", out, "', expected a file that ends in .svg, .pdf, .png, .csv or .json");
  const fs::path folder = path.has_parent_path() ? path.parent_path() : ".";
  check(fs::is_directory(folder), "--out is '", out, "', but there is no folder '", folder.string(),
        "': make it first");
  if (extension == ".pdf" || extension == ".png") check_converter(out);
}

void write_figure(const fs::path& out, const plot::Figure& figure, const Json& json, size_t width) {
  const std::string extension = out.extension().string();
  if (extension == ".svg") {
    write_file(out, plot::to_svg(figure, plot::Theme::kAuto, static_cast<double>(width)));
  } else if (extension == ".csv") {
    write_file(out, plot::to_csv(figure));
  } else if (extension == ".json") {
    write_json(out, json);
  } else {
    convert(out, figure, width);
  }
}

}  // namespace rapt::app

// Seconds and memory of whole processes of this program: `rapt --version`, and `rapt decode` of one
// word. tools/peers/startup.py does the same for a Python that imports a framework.
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <fstream>

#include "apps/rapt/bench/bench.h"
#include "apps/rapt/bench/measure.h"
#include "apps/rapt/bench/model_files.h"

extern char** environ;

namespace rapt::app::bench {
namespace {

const char* const kSelf = "/proc/self/exe";

struct Ended {
  double ms = 0, peak_rss_mb = 0;
};

// Runs this program with standard input and output at these files.
Ended run_program(const std::vector<std::string>& arguments, const fs::path& in,
                  const fs::path& out) {
  std::vector<char*> argv;
  std::string name = "rapt";
  argv.push_back(name.data());
  for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, in.c_str(), O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const Stopwatch watch;
  const int error = posix_spawn(&child, kSelf, &files, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  check<IoError>(error == 0, "bench: cannot start ", kSelf);
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  const Ended ended{1e3 * watch.seconds(), static_cast<double>(usage.ru_maxrss) / 1024};
  check_result(status == 0, "startup: rapt " + arguments[0]);
  return ended;
}

std::string first_line(const fs::path& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

}  // namespace

void run_startup(const Options& options) {
  const TemporaryDirectory directory;
  const fs::path in = directory.path() / "word", out = directory.path() / "answer";
  const fs::path model = directory.path() / "model";
  fs::create_directory(model);
  write_random_model(model, options.size, options.vocabulary);
  std::ofstream(in) << "w1\n";

  struct Process {
    std::string name;
    std::vector<std::string> arguments;
    std::function<bool(const std::string&)> right;  // the first line of its answer
  };
  const std::vector<Process> processes = {
      {"startup_version",
       {"--version"},
       [](const std::string& line) { return line == "rapt " RAPT_VERSION; }},
      {"startup_decode_one_word",
       {"decode", "--model", model.string(), "--max-length", "20", "--threads",
        std::to_string(options.threads)},
       [](const std::string& line) { return line.starts_with('w'); }},
  };
  std::vector<std::vector<Sample>> samples(processes.size());
  std::vector<double> first_ms, peak;
  for (size_t i = 0; i < processes.size(); ++i) {
    const Ended ended = run_program(processes[i].arguments, in, out);
    check_result(processes[i].right(first_line(out)), processes[i].name);
    first_ms.push_back(ended.ms);
    peak.push_back(ended.peak_rss_mb);
  }
  for (size_t round = 0; round < options.rounds_or(7); ++round) {
    for (size_t i = 0; i < processes.size(); ++i) {
      samples[i].push_back({run_program(processes[i].arguments, in, out).ms});
    }
  }
  for (size_t i = 0; i < processes.size(); ++i) {
    Json line{{"peer", "rapt"}, {"case", processes[i].name}, {"threads", options.threads}};
    line["shape"] = {{"size", options.size}, {"vocabulary", options.vocabulary}};
    line["first_ms"] = first_ms[i];
    const Timing timing = timing_of(samples[i]);
    line["ms"] = timing.ms;
    line["ms_median"] = timing.ms_median;
    line["runs"] = timing.runs;
    line["peak_rss_mb"] = peak[i];
    line["install_mb"] = static_cast<double>(fs::file_size(kSelf)) / (1 << 20);
    emit(std::move(line));
  }
  Pool pool(options.threads);
  Machine(pool).emit();
}

}  // namespace rapt::app::bench

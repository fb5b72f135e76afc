#include "apps/rapt/bench/model_files.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "apps/rapt/bench/bench.h"
#include "rapt/models/model_directory.h"

namespace rapt::app::bench {
namespace {

void write_here(const fs::path& directory, const std::string& size, size_t vocabulary) {
  const fs::path words = directory / "words.tsv";
  std::ofstream out(words);
  constexpr size_t kWordsOfLine = 1000;
  for (size_t i = 0, n = vocabulary - kSpecialSymbols.size(); i < n; ++i) {
    out << 'w' << i << (i + 1 == n || i % kWordsOfLine == kWordsOfLine - 1 ? "\tw0\n" : " ");
  }
  out.close();
  TextOptions options;
  options.source.tokenizer = options.target.tokenizer = "words";
  options.joint = true;
  const TextProcessor text = TextProcessor::build(options, ParallelCorpus::open({words}));
  fs::remove(words);
  const ModelConfig config = config_of_size(size);
  const Transformer model(config, text.source().size(), text.target().size());
  save_config(directory, config, text);
  save_weights(directory / "model.safetensors", model.parameters());
}

}  // namespace

TemporaryDirectory::TemporaryDirectory() {
  std::string name = (fs::temp_directory_path() / "rapt-bench-XXXXXX").string();
  check<IoError>(mkdtemp(name.data()) != nullptr, name, ": cannot make the directory");
  path_ = name;
}
TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void write_random_model(const fs::path& directory, const std::string& size, size_t vocabulary) {
  const pid_t child = fork();
  check<IoError>(child >= 0, "bench: cannot start a process");
  if (child == 0) {
    try {
      write_here(directory, size, vocabulary);
      _exit(0);
    } catch (const std::exception&) {
      _exit(1);
    }
  }
  int status = 0;
  waitpid(child, &status, 0);
  check<IoError>(status == 0, directory.string(), ": cannot write a model of ", vocabulary,
                 " symbols");
}

double directory_mb(const fs::path& directory) {
  double bytes = 0;
  for (const auto& file : fs::directory_iterator(directory)) {
    bytes += static_cast<double>(file.file_size());
  }
  return bytes / (1 << 20);
}

}  // namespace rapt::app::bench

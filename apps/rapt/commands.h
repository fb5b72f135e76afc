// The subcommands of the program, one file each. A command takes what follows its name, returns the
// exit code, and throws for what went wrong: main.cc turns errors into messages and codes.
#pragma once
#include <string>
#include <vector>

namespace rapt::app {

using Arguments = std::vector<std::string>;

int train_main(const Arguments& arguments);
int decode_main(const Arguments& arguments);
int score_main(const Arguments& arguments);
int eval_main(const Arguments& arguments);
int average_main(const Arguments& arguments);
int explain_main(const Arguments& arguments);
int info_main(const Arguments& arguments);
int check_main(const Arguments& arguments);
int insight_main(const Arguments& arguments);
int bench_main(const Arguments& arguments);

}  // namespace rapt::app

// What scores are multiplied by, as the options of several claims name it.
#pragma once
#include <cstddef>
#include <string>

namespace rapt::insight {

// "sqrt": 1 / sqrt(d_k); "none": 1; else the number. Throws InvalidArgument for anything else.
double scale_of(const std::string& scale, size_t d_k);

}  // namespace rapt::insight

#include "rapt/train/averaging.h"

#include <algorithm>
#include <vector>

#include "rapt/base/check.h"

namespace rapt {
namespace {

void check_same_tensors(const SafetensorsFile& file, const SafetensorsFile& first) {
  const std::string differs =
      concat(file.path().string(), " does not fit ", first.path().string(), ": ");
  for (const StoredTensor& tensor : first.tensors()) {
    const StoredTensor* other = file.find(tensor.name);
    check<IoError>(other != nullptr, differs, tensor.name, " is missing");
    check<IoError>(other->shape == tensor.shape, differs, tensor.name, " is ", other->describe(),
                   ", expected ", tensor.describe());
  }
  for (const StoredTensor& tensor : file.tensors()) {
    check<IoError>(first.find(tensor.name) != nullptr, differs, "unknown tensor ", tensor.name);
  }
}

}  // namespace

TensorMap average_weights(std::span<const fs::path> paths) {
  check(!paths.empty(), "average: no checkpoints");
  std::vector<SafetensorsFile> files;
  for (const fs::path& path : paths) {
    files.emplace_back(path);
    check_same_tensors(files.back(), files.front());
  }
  TensorMap averages;
  std::vector<double> sum;
  for (const StoredTensor& tensor : files.front().tensors()) {
    Tensor value;
    sum.clear();
    for (const SafetensorsFile& file : files) {  // one tensor of one file in memory at a time
      value = file.read(*file.find(tensor.name));
      sum.resize(value.size());
      std::ranges::transform(sum, value.span(), sum.begin(),
                             [](double s, float x) { return s + x; });
    }
    const auto n = static_cast<double>(files.size());
    std::ranges::transform(sum, value.span().begin(),
                           [n](double s) { return static_cast<float>(s / n); });
    averages.emplace(tensor.name, value);
  }
  return averages;
}

}  // namespace rapt

#include "rapt/train/parameter_block.h"

#include <algorithm>

#include "rapt/base/check.h"

namespace rapt {
namespace {

constexpr size_t kAlign = 64 / sizeof(float);
constexpr size_t padded(size_t elements) { return (elements + kAlign - 1) / kAlign * kAlign; }

}  // namespace

ParameterBlock::ParameterBlock(const ParameterSet& parameters, MemoryPool& memory)
    : parameters_(&parameters) {
  size_t size = 0;
  for (size_t i = 0; i < parameters.size(); ++i) size += padded(parameters[i].value.size());
  all_ = Tensor::zeros({size, 1}, memory);
  size_t begin = 0;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Tensor& value = parameters[i].value;
    tensors_.push_back(all_.slice_rows(begin, begin + value.size()).reshape(value.shape()));
    begin += padded(value.size());
  }
}

void ParameterBlock::clear(Pool& pool) const {
  for_element_blocks(all().size(), pool, [&](size_t begin, size_t end) {
    std::ranges::fill(all().subspan(begin, end - begin), 0.0f);
  });
}

void ParameterBlock::store(TensorMap& tensors, const std::string& prefix) const {
  for (size_t i = 0; i < tensors_.size(); ++i) {
    tensors.emplace(prefix + (*parameters_)[i].name, tensors_[i]);
  }
}

void ParameterBlock::load(const TensorMap& tensors, const std::string& prefix,
                          std::string_view file) const {
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const std::string name = prefix + (*parameters_)[i].name;
    const auto found = tensors.find(name);
    check<IoError>(found != tensors.end(), file, ": ", name, " is missing");
    const Shape &shape = found->second.shape(), &expected = tensors_[i].shape();
    check<IoError>(shape == expected, file, ": ", name, " is ", shape, ", expected ", expected);
    std::ranges::copy(found->second.span(), tensors_[i].span().begin());
  }
}

}  // namespace rapt

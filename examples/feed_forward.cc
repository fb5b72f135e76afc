// The position-wise feed-forward network of "Attention Is All You Need", by itself:
//   FFN(x) = max(0, x W1^T + b1) W2^T + b2        d_model 512, d_ff 2048, dropout 0.1
// on a batch of 64 sentences of 100 tokens. It prints the module, the sizes of input and output, which
// must be equal, and some numbers of the output.
//
//   example_feed_forward                            as above
//   example_feed_forward feed_forward.safetensors   also writes weights, input and output
//   python3 examples/feed_forward.py feed_forward.safetensors
//                                                   what PyTorch makes of the same weights and input
#include "rapt/nn/feed_forward.h"

#include <iostream>

#include "rapt/base/check.h"
#include "rapt/base/random.h"
#include "rapt/io/safetensors.h"

namespace rapt {
namespace {

constexpr size_t kBatch = 64, kLength = 100, kModel = 512;

// Every module takes the scope in which its parameters are named, and draws their first values by
// name and seed: the same numbers on every machine.
int run(const char* file) {
  ParameterSet parameters(/*seed=*/1);
  const nn::FeedForward ffn(Scope(parameters),
                            {.d_model = kModel, .d_ff = 4 * kModel, .dropout_activation = 0.1f});
  std::cout << ffn << '\n';

  // Sentences one after another: [6400, 512] is how the library sees [64, 100, 512].
  const Tensor input(MemoryPool::process(), {kBatch, kLength, kModel});
  fill_normal(input.span(), /*key=*/2, 0, 1.0);
  const Lengths sentences = Lengths::of(std::vector<uint32_t>(kBatch, kLength));
  const Tensor rows = input.reshape({kBatch * kLength, kModel});

  Pool pool(1);
  Context training(Mode::kTraining, pool), inference(Mode::kInference, pool);
  const Tensor dropped = ffn(training, rows, sentences).value().reshape(input.shape());
  const Tensor output = ffn(inference, rows, sentences).value().reshape(input.shape());

  std::cout << "input   " << input.shape() << "\noutput  " << output.shape() << '\n';
  check(output.shape() == input.shape() && dropped.shape() == input.shape(),
        "the output has another shape than the input");
  std::cout << "output[0, 0, :4]  ";
  for (size_t i = 0; i < 4; ++i) std::cout << ' ' << output.host()[i];
  std::cout << "\n   in training    ";
  for (size_t i = 0; i < 4; ++i) std::cout << ' ' << dropped.host()[i];
  std::cout << '\n';

  if (file != nullptr) {
    TensorMap tensors = {{"input", input}, {"output", output}};
    for (size_t i = 0; i < parameters.size(); ++i) {
      tensors.emplace(parameters[i].name, parameters[i].value);
    }
    write_safetensors(file, tensors);
  }
  return 0;
}

}  // namespace
}  // namespace rapt

int main(int argc, char** argv) {
  try {
    return rapt::run(argc > 1 ? argv[1] : nullptr);
  } catch (const std::exception& error) {
    std::cerr << "feed_forward: " << error.what() << '\n';
    return 1;
  }
}

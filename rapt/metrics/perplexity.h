// What a model thinks of a text: loss in nats a token, and perplexity = e^loss, the number of
// tokens among which it is as undecided as among equals.
#pragma once
#include <cstdint>

namespace rapt::metrics {

// -log_probability / tokens, both summed over a text. Throws InvalidArgument without tokens.
double loss_per_token(double log_probability, uint64_t tokens);

double perplexity(double loss);

}  // namespace rapt::metrics

// The activations of activation.h on any number.
#pragma once
#include <cmath>

#include "rapt/kernels/activation.h"

namespace rapt::kernels {

template <class T>
T activation_ref(Activation activation, T x) {
  using std::erf, std::exp;
  const auto sigmoid = [](T v) {  // neither form overflows
    const T e = exp(v < T(0) ? v : -v);
    return (v < T(0) ? e : T(1)) / (T(1) + e);
  };
  switch (activation) {
    case Activation::kNone:
      return x;
    case Activation::kRelu:
      return x < T(0) ? T(0) : x;
    case Activation::kGelu:
      return x * (T(1) + erf(x * T(0.70710678118654752))) * T(0.5);
    case Activation::kGeluTanh:
      return x * sigmoid(T(1.5957691216057308) * (x + T(0.044715) * x * x * x));
    case Activation::kSilu:
      return x * sigmoid(x);
    case Activation::kSigmoid:
      return sigmoid(x);
  }
  return x;
}

}  // namespace rapt::kernels

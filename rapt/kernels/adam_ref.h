// One step of Adam or AdamW on one element, for any number.
#pragma once
#include <cmath>

#include "rapt/kernels/adam.h"

namespace rapt::kernels {

template <class T>
struct AdamElement {
  T p, gradient, m, v, ema;
};

template <class T>
AdamElement<T> adam_ref(const AdamArgs& a, AdamElement<T> e) {
  using std::sqrt, std::pow;
  const T t = static_cast<T>(a.step);
  T g = a.grad_scale * e.gradient;
  if (a.decoupled) {
    e.p = e.p - a.lr * a.weight_decay * e.p;
  } else {
    g = g + a.weight_decay * e.p;
  }
  e.m = a.beta1 * e.m + (1 - a.beta1) * g;
  e.v = a.beta2 * e.v + (1 - a.beta2) * g * g;
  const T denominator = sqrt(e.v) / sqrt(1 - pow(a.beta2, t)) + a.eps;
  e.p = e.p - a.lr / (1 - pow(a.beta1, t)) * e.m / denominator;
  e.ema = a.ema_decay * e.ema + (1 - a.ema_decay) * e.p;
  e.gradient = 0;
  return e;
}

}  // namespace rapt::kernels

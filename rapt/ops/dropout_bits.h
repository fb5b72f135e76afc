// What an operation keeps of its dropout: enough to draw the bits again in the backward pass.
#pragma once
#include "rapt/kernels/dropout.h"
#include "rapt/ops/dropout.h"

namespace rapt::ops {

struct DropoutBits {
  uint64_t key = 0;
  DropRate rate;
  Lengths lengths;

  DropoutBits() : lengths(no_rows()) {}  // off
  // Throws InvalidArgument unless p is in [0, 1) and `lengths` names `rows` rows; `op` is who asks.
  DropoutBits(const Context& ctx, const char* op, const Dropout& dropout, const Lengths& lengths,
              size_t rows)
      : key(ctx.dropout_key(dropout.site)), lengths(lengths) {
    check(dropout.p >= 0 && DropRate::of(dropout.p).n < 65536, op, ": dropout is ", dropout.p,
          ", expected a number in [0, 1)");
    check(lengths.rows() == rows, op, ": x has ", rows, " rows, its lengths name ", lengths.rows());
    rate = dropout.rate(ctx);
  }
  bool on() const { return rate.on(); }
  kernels::RowDropout of_rows() const { return {key, rate, &lengths}; }

 private:
  static const Lengths& no_rows() {  // made once: a copy allocates nothing
    static const Lengths none;
    return none;
  }
};

}  // namespace rapt::ops

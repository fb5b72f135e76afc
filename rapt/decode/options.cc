#include "rapt/decode/options.h"

namespace rapt {

void DecodeOptions::validate() const {
  check_ranges(*this);
  check(sample || nbest <= beam, "nbest is ", nbest, ", more than beam, which is ", beam,
        "; a search keeps `beam` hypotheses");
  check(!sample || beam == 1, "beam is ", beam, " and sample is on: choose one of the two");
  check(max_length == 0 || min_length <= max_length, "min_length is ", min_length,
        ", more than max_length, which is ", max_length);
}

}  // namespace rapt

#include "rapt/decode/invariance.h"

#include <gtest/gtest.h>

#include "rapt/decode/tiny_model_for_tests.h"

namespace rapt {
namespace {

TEST(Invariance, HoldsForBothArchitectures) {
  for (const bool pairs : {true, false}) {
    const Model model = pairs ? testing::tiny_pairs_model() : testing::tiny_text_model();
    std::vector<Example> examples;
    for (const char* text : {"xyzzy", "x", "", "zyxzyx"}) {
      Example e{examples.size(), {}, model.text.target().encode(text)};
      if (pairs) e.source = model.text.source().encode("abcd");
      examples.push_back(e);
    }
    for (const InvarianceResult& r : check_invariance(model, examples, 2)) {
      EXPECT_EQ(r.compared, 5u + 1 + 0 + 6 + 4) << r.name;
      EXPECT_EQ(r.different, 0u) << r.name << ": " << r.first;
    }
  }
}

}  // namespace
}  // namespace rapt

#include "rapt/nn/module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "rapt/nn/output.h"
#include "rapt/nn/stack.h"

namespace rapt {
namespace {

template <class T>
std::string text_of(const T& module) {
  std::ostringstream out;
  out << module;
  return out.str();
}

TEST(Module, PrintsItsTree) {
  ParameterSet set(1);
  const nn::FeedForward ffn(Scope(set), {.d_model = 4, .d_ff = 6, .dropout_activation = 0.1f});
  EXPECT_EQ(text_of(ffn),
            "FeedForward(  # 58 parameters\n"
            "  activation=relu\n"
            "  (linear1): Linear(weight [6, 4], bias [6])  # 30 parameters\n"
            "  (dropout): Dropout(p=0.1)\n"
            "  (linear2): Linear(weight [4, 6], bias [4])  # 28 parameters\n"
            ")");
}

TEST(Module, ALeafIsOneLine) {
  ParameterSet set(1);
  const nn::Linear linear(Scope(set) / "linear1", 3, 2);
  EXPECT_EQ(text_of(linear), "Linear(weight [2, 3], bias [2])  # 8 parameters");
}

TEST(Module, CountsWhatIsPackedAndNamesWhatIsTied) {
  ParameterSet set(1);
  const Scope root(set);
  Weight& table = (root / "embedding").weight("weight", 5, 2, Init::normal(1));
  (root / "output").tie("weight", table);
  const nn::Output output(root / "output", table, nullptr);
  EXPECT_EQ(text_of(output), "Output(weight = embedding.weight)");
  table.pack(Precision::kF32);
  EXPECT_EQ(text_of(set),
            "(  # 10 parameters\n"
            "  (embedding): (weight [5, 2])  # 10 parameters\n"
            "  (output): Output(weight = embedding.weight)\n"
            ")");
}

TEST(Module, EqualLayersAreShownOnce) {
  ParameterSet set(1);
  const nn::LayerOptions options{.d_model = 4, .heads = 2, .d_ff = 6};
  const nn::Encoder stack(Scope(set) / "encoder", 12, options, true);
  const std::string text = text_of(stack);
  EXPECT_THAT(text, ::testing::HasSubstr("\n    (0-11): 12 x EncoderLayer("));
  EXPECT_EQ(text.find("(1): "), std::string::npos);
  EXPECT_THAT(text, ::testing::HasSubstr("MultiHeadAttention(  # 80 parameters\n"));
  EXPECT_THAT(text, ::testing::HasSubstr(concat("Stack(  # ", set.elements(), " parameters")));
}

TEST(Module, BuffersAreShownButNotCounted) {
  ParameterSet set(1);
  const nn::Norm norm(Scope(set), NormKind::kBatch, 3, 1e-5f);
  EXPECT_EQ(text_of(norm),
            "BatchNorm(eps=1e-05, weight [3], bias [3], running_mean [3], running_var [3], "
            "num_batches_tracked [])  # 6 parameters");
}

// Names that share their beginning are not of one scope.
TEST(Module, AScopeIsAWholeName) {
  ParameterSet set(1);
  const Scope root(set);
  const nn::Linear first(root / "linear1", 2, 2), twelfth(root / "linear12", 9, 9);
  EXPECT_EQ(text_of(first), "Linear(weight [2, 2], bias [2])  # 6 parameters");
}

}  // namespace
}  // namespace rapt

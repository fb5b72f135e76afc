#include "rapt/train/run_identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rapt/train/options.h"

namespace rapt {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::ThrowsMessage;

Json identity(const TrainOptions& options) {
  Json object;
  TrainOptions::fields_of_identity(options, to_object(object));
  return {{"training", object}};
}

TEST(RunIdentity, EveryOptionOfTheIdentityIsInItAndNamedWhenItChanges) {
  size_t fields = 0;
  TrainOptions changed;
  TrainOptions::fields_of_identity(changed, [&](std::string_view name, auto& value, auto&&...) {
    using T = std::remove_cvref_t<decltype(value)>;
    const T old = value;
    if constexpr (std::is_enum_v<T>) {
      value = static_cast<T>(static_cast<int>(value) + 1);
    } else if constexpr (std::is_same_v<T, std::string>) {
      value = "bleu";
    } else {
      value = value / 2 + T(1) / 4 + T(3);
    }
    EXPECT_THAT(differences(identity({}), identity(changed)),
                ElementsAre(HasSubstr("training." + std::string(name) + " is ")));
    value = old;
    ++fields;
  });
  EXPECT_EQ(fields, 21u);
  EXPECT_THAT(differences(identity({}), identity(changed)), IsEmpty());
}

TEST(RunIdentity, TheMessageHasNameAndBothValues) {
  TrainOptions changed;
  changed.lr = 0.3;
  changed.batch_tokens = 17;
  EXPECT_THAT([&] { check_same_run(identity({}), identity(changed), "model"); },
              ThrowsMessage<InvalidArgument>(AllOf(
                  HasSubstr("model holds"), HasSubstr("training.lr is 0.3, was 0.001"),
                  HasSubstr("training.batch_tokens is 17, was 4096"), Not(HasSubstr("seed")))));
}

TEST(RunIdentity, AnOptionThatOneSideLacksIsADifference) {
  EXPECT_THAT(differences({{"a", 1}}, {{"a", 1}, {"b", 2}}), ElementsAre("b is 2, was null"));
  EXPECT_THAT(differences({{"a", 1}, {"b", 2}}, {{"a", 1}}), ElementsAre("b is null, was 2"));
}

TEST(RunIdentity, SurvivesBeingWrittenAndRead) {
  TrainOptions options;
  options.lr = 1.0 / 3;
  options.ema_decay = 0.9999;
  const Json now = identity(options);
  EXPECT_THAT(differences(parse_json(now.dump(), "state"), now), IsEmpty());
}

}  // namespace
}  // namespace rapt

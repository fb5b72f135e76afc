#include "rapt/train/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>

namespace rapt {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

constexpr size_t kFloats = 1000;

class CheckpointTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(testing::TempDir()) /
            testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(root_);
    fs::create_directories(root_);
    store_.emplace(root_ / "checkpoints");
  }
  void TearDown() override { fs::remove_all(root_); }

  // All numbers of the tensors are the step.
  void save(uint64_t step, size_t floats = kFloats) const {
    RunState state;
    state.step = step;
    store_->save(state, {{"lr", 0.5}}, [&](const fs::path& directory) {
      const Tensor x = Tensor::zeros({floats});
      std::ranges::fill(x.span(), static_cast<float>(step));
      write_safetensors(directory / "model.safetensors", {{"w", x}});
      write_safetensors(directory / "optimizer.safetensors", {{"exp_avg.w", x}});
    });
  }
  float first_value(const Checkpoint& checkpoint) const {
    return read_safetensors(checkpoint.weights()).find("w")->second.span()[0];
  }
  void damage(uint64_t step, const char* name) const {
    std::fstream file(store_->path(step) / name, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-5, std::ios::end);
    file.put('\x7f');
  }

  fs::path root_;
  std::optional<CheckpointStore> store_;
};

TEST_F(CheckpointTest, NamesAreStepsOfEightDigits) {
  EXPECT_EQ(name_of_step(1234), "step-00001234");
  EXPECT_EQ(name_of_step(1234567890), "step-1234567890");
  EXPECT_EQ(step_of_name("step-00001234"), 1234u);
  for (const char* other : {"step-", "step-12x", "step-00000001.tmp", "12", "step--1"}) {
    EXPECT_EQ(step_of_name(other), std::nullopt) << other;
  }
}

TEST_F(CheckpointTest, StateSurvives) {
  RunState state;
  state.step = 9, state.applied = 7, state.epoch = 2, state.index = 3;
  state.skipped = 2, state.skipped_in_a_row = 1, state.validated = true;
  state.target_tokens = uint64_t{1} << 52;
  state.best = {Best::Found{4, 1.0 / 3}, 2};
  state.window = {3, 500, 0.1, 1e300, 2.5, {{"encoder.layers.1", 1.25, {0.25, 0.75}}}};
  EXPECT_EQ(run_state_of_json(JsonObject(parse_json(to_json(state).dump(), "s"), "s")), state);
  EXPECT_EQ(run_state_of_json(JsonObject(to_json(RunState()), "s")), RunState());
}

TEST_F(CheckpointTest, TheNewestIsFoundWithAllThatWasSaved) {
  std::vector<std::string> refused;
  EXPECT_FALSE(store_->newest(refused).has_value());
  save(10);
  save(20);
  const auto found = store_->newest(refused);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->state.step, 20u);
  EXPECT_EQ(found->identity, Json({{"lr", 0.5}}));
  EXPECT_EQ(first_value(*found), 20.0f);
  EXPECT_THAT(refused, IsEmpty());
}

TEST_F(CheckpointTest, ADamagedOneIsNamedAndTheOneBeforeIsUsed) {
  for (const char* name : {"model.safetensors", "optimizer.safetensors", "state.json"}) {
    save(10);
    save(20);
    damage(20, name);
    std::vector<std::string> refused;
    EXPECT_EQ(store_->newest(refused)->state.step, 10u);
    EXPECT_THAT(refused, ElementsAre(AllOf(HasSubstr("step-00000020"), HasSubstr(name),
                                           HasSubstr("damaged"))));
  }
}

TEST_F(CheckpointTest, AnIncompleteOneIsNamedAndTheOneBeforeIsUsed) {
  for (const char* name : {"model.safetensors", "state.json", "manifest.json"}) {
    save(10);
    save(20);
    fs::remove(store_->path(20) / name);
    std::vector<std::string> refused;
    EXPECT_EQ(store_->newest(refused)->state.step, 10u);
    EXPECT_THAT(refused, ElementsAre(AllOf(HasSubstr("step-00000020"), HasSubstr(name))));
  }
  save(20);
  fs::resize_file(store_->path(20) / "optimizer.safetensors", 100);
  std::vector<std::string> refused;
  EXPECT_EQ(store_->newest(refused)->state.step, 10u);
  EXPECT_THAT(refused, ElementsAre(HasSubstr("has 100 bytes, expected")));
}

TEST_F(CheckpointTest, WhenNoneIsWholeItIsAnErrorAndNoNewStart) {
  save(10);
  damage(10, "model.safetensors");
  std::vector<std::string> refused;
  EXPECT_THAT([&] { store_->newest(refused); },
              ThrowsMessage<IoError>(AllOf(HasSubstr("no checkpoint in"),
                                           HasSubstr("step-00000010/model.safetensors"))));
}

TEST_F(CheckpointTest, KeepsTheLastAndTheBest) {
  for (uint64_t step = 1; step <= 6; ++step) save(step);
  store_->prune(6, 2, 3);
  EXPECT_THAT(store_->steps(), ElementsAre(3, 5, 6));
  store_->prune(6, 1, std::nullopt);
  EXPECT_THAT(store_->steps(), ElementsAre(6));
  store_->prune(6, 5, std::nullopt);
  EXPECT_THAT(store_->steps(), ElementsAre(6));
}

// Otherwise a damaged one of a later step would take the place of a whole one.
TEST_F(CheckpointTest, LaterOnesGo) {
  for (uint64_t step : {10, 15, 20}) save(step);
  store_->prune(15, 1, std::nullopt);
  EXPECT_THAT(store_->steps(), ElementsAre(15));
}

TEST_F(CheckpointTest, SavingAStepAgainReplacesIt) {
  save(10);
  damage(10, "model.safetensors");
  save(10);
  EXPECT_EQ(first_value(store_->load(10)), 10.0f);
}

TEST_F(CheckpointTest, AFailureWhileWritingLeavesTheOldOnes) {
  save(10);
  RunState state;
  state.step = 20;
  EXPECT_THROW(store_->save(state, {}, [](const fs::path&) { throw IoError("no"); }), IoError);
  EXPECT_THAT(store_->steps(), ElementsAre(10));
  EXPECT_FALSE(fs::exists(store_->folder() / "step-00000020.tmp"));
}

// A limit on the size of files fails as a full disk does.
TEST_F(CheckpointTest, AFullDiskLeavesTheOldOneWhole) {
  save(10);
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1000, 1000};
    setrlimit(RLIMIT_FSIZE, &limit);
    try {
      save(20);
    } catch (const IoError& error) {
      _exit(std::string(error.what()).find("model.safetensors") != std::string::npos ? 7 : 8);
    }
    _exit(9);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 7);  // an IoError that names the file
  std::vector<std::string> refused;
  EXPECT_EQ(store_->newest(refused)->state.step, 10u);
  EXPECT_THAT(refused, IsEmpty());
}

TEST_F(CheckpointTest, AKillAtAnyMomentLeavesAWholeOne) {
  const auto start = std::chrono::steady_clock::now();
  save(1, 20000);
  const std::chrono::duration<double, std::micro> a_save = std::chrono::steady_clock::now() - start;
  uint64_t last = 1;
  constexpr int kRounds = 40;  // killed after 0 … 3 times what a save takes
  for (int round = 0; round < kRounds; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      for (uint64_t step = last + 1;; ++step) {
        save(step, 20000);
        store_->prune(step, 2, std::nullopt);
      }
    }
    usleep(static_cast<useconds_t>(a_save.count() * 3 * round / kRounds));
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    std::vector<std::string> refused;
    const auto found = store_->newest(refused);
    ASSERT_TRUE(found.has_value());
    ASSERT_THAT(refused, IsEmpty());
    ASSERT_GE(found->state.step, last);
    ASSERT_EQ(first_value(*found), static_cast<float>(found->state.step));
    last = found->state.step;
  }
  EXPECT_GT(last, 1u);  // the children did save
}

}  // namespace
}  // namespace rapt

#include "rapt/models/state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "rapt/base/check.h"

namespace rapt {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::vector<int32_t> slots(const KVCache& cache, uint32_t sequence) {
  const auto list = cache.slots(sequence);
  return {list.begin(), list.end()};
}

TEST(KVCache, HasKeysAndValuesOfEachLayer) {
  const KVCache cache(3, {8, 6}, 5);
  for (size_t layer = 0; layer < 3; ++layer) {
    EXPECT_EQ(cache.keys(layer).shape(), (Shape{5, 8}));
    EXPECT_EQ(cache.values(layer).shape(), (Shape{5, 6}));
    EXPECT_NE(cache.keys(layer).data(), cache.values(layer).data());
  }
  EXPECT_NE(cache.keys(0).data(), cache.keys(1).data());
  EXPECT_EQ(cache.free_slots(), 5u);
}

// Also where a layer's slots lie in several places.
TEST(KVCache, RowsOfLayersAndSlotsAreApart) {
  for (const size_t slots : {1, 64, 65, 150}) {
    KVCache cache(3, {4, 2}, slots);
    cache.open(0);
    const auto given = cache.append(0, slots);
    const auto check_rows = [&](const auto& row_of, float kind) {
      const auto value = [&](size_t layer, size_t i) {
        return kind * static_cast<float>(layer * slots + i + 1);
      };
      for (const bool write : {true, false}) {
        for (size_t layer = 0; layer < 3; ++layer) {
          for (size_t i = 0; i < slots; ++i) {
            const std::span<float> row = row_of(layer, static_cast<size_t>(given[i]));
            if (write) std::ranges::fill(row, value(layer, i));
            ASSERT_THAT(row, Each(value(layer, i))) << slots << " slots";
          }
        }
      }
    };
    check_rows([&](size_t layer, size_t slot) { return cache.keys(layer).matrix().row(slot); }, 1);
    check_rows([&](size_t layer, size_t slot) { return cache.values(layer).matrix().row(slot); },
               -1);
  }
}

TEST(KVCache, AppendsDistinctSlotsInOrder) {
  KVCache cache(1, {4, 4}, 8);
  EXPECT_EQ(cache.open(7), 0u);
  EXPECT_EQ(cache.open(9), 1u);
  const auto first = cache.append(0, 3);
  const std::vector<int32_t> prompt(first.begin(), first.end());
  cache.append(1, 2);
  const int32_t next = cache.append(0, 1)[0];
  EXPECT_THAT(slots(cache, 0), ElementsAre(prompt[0], prompt[1], prompt[2], next));
  std::set<int32_t> all;
  for (const uint32_t s : {0u, 1u}) all.insert(cache.slots(s).begin(), cache.slots(s).end());
  EXPECT_EQ(all.size(), 6u);
  EXPECT_EQ(cache.free_slots(), 2u);
  EXPECT_EQ(cache.id(0), 7u);
  EXPECT_EQ(cache.id(1), 9u);
}

TEST(KVCache, HeirsShareTheirPastAndWriteTheirOwnFuture) {
  KVCache cache(1, {4, 4}, 16);
  cache.open(1);
  cache.open(2);
  cache.append(0, 2);
  cache.append(1, 3);
  const auto past0 = slots(cache, 0), past1 = slots(cache, 1);
  cache.reorder(std::vector<uint32_t>{1, 0, 1});
  EXPECT_EQ(cache.sequences(), 3u);
  EXPECT_EQ(slots(cache, 0), past1);
  EXPECT_EQ(slots(cache, 1), past0);
  EXPECT_EQ(slots(cache, 2), past1);
  EXPECT_EQ(cache.id(0), 2u);
  EXPECT_EQ(cache.id(1), 1u);
  EXPECT_EQ(cache.id(2), 2u);
  EXPECT_EQ(cache.free_slots(), 11u);  // nothing was copied
  const int32_t a = cache.append(0, 1)[0], b = cache.append(2, 1)[0];
  EXPECT_NE(a, b);
  for (const int32_t slot : {a, b}) EXPECT_EQ(std::ranges::count(past1, slot), 0);
}

TEST(KVCache, ASlotIsFreeWhenItsLastListHasGone) {
  KVCache cache(1, {4, 4}, 6);
  cache.open(1);
  cache.append(0, 2);
  cache.reorder(std::vector<uint32_t>{0, 0});
  cache.append(0, 1);
  cache.append(1, 1);
  EXPECT_EQ(cache.free_slots(), 2u);
  cache.reorder(std::vector<uint32_t>{1});
  EXPECT_EQ(cache.free_slots(), 3u);  // the shared past stays
  cache.reorder(std::vector<uint32_t>{});
  EXPECT_EQ(cache.free_slots(), 6u);
  EXPECT_EQ(cache.sequences(), 0u);
  cache.open(3);
  EXPECT_EQ(cache.slots(0).size(), 0u);
  cache.append(0, 6);  // all of them again, each once
  auto all = slots(cache, 0);
  std::ranges::sort(all);
  EXPECT_THAT(all, ElementsAre(0, 1, 2, 3, 4, 5));
}

// A long search never runs out of slots, nor frees one twice.
TEST(KVCache, CountsSlotsExactlyThroughManyReorders) {
  constexpr size_t kSlots = 400;
  KVCache cache(1, {1, 1}, kSlots);
  cache.open(0);
  uint32_t state = 1;
  for (int step = 0; step < 300; ++step) {
    for (uint32_t s = 0; s < cache.sequences(); ++s) cache.append(s, 1);
    const size_t next = step % 37 == 36 ? 1 : 4;
    std::vector<uint32_t> parents(next);
    for (uint32_t& p : parents) {
      state = state * 1664525 + 1013904223;
      p = (state >> 16) % static_cast<uint32_t>(cache.sequences());
    }
    cache.reorder(parents);
    std::set<int32_t> held;
    for (uint32_t s = 0; s < cache.sequences(); ++s) {
      held.insert(cache.slots(s).begin(), cache.slots(s).end());
    }
    ASSERT_EQ(cache.free_slots() + held.size(), kSlots);
    if (cache.free_slots() < 8) {
      cache.reorder({});
      cache.open(0);
    }
  }
}

TEST(KVCache, SaysWhenItIsFull) {
  KVCache cache(1, {4, 4}, 3);
  cache.open(1);
  cache.append(0, 2);
  EXPECT_THAT(
      [&] { cache.append(0, 2); },
      ThrowsMessage<InvalidArgument>(HasSubstr("2 rows wanted, but 1 of 3 slots are free")));
  EXPECT_EQ(cache.slots(0).size(), 2u);
  EXPECT_THAT([&] { cache.append(1, 1); }, ThrowsMessage<InvalidArgument>(HasSubstr("sequence 1")));
  EXPECT_THAT(
      [&] {
        cache.reorder(std::vector<uint32_t>{0, 1});
      },
      ThrowsMessage<InvalidArgument>(HasSubstr("parent 1 of 1")));
  EXPECT_EQ(cache.sequences(), 1u);
}

TEST(KVCache, RefusesMoreThanItCanCount) {
  const auto refused = ThrowsMessage<InvalidArgument>(HasSubstr("slots of"));
  EXPECT_THAT([] { KVCache(3, {4, 4}, std::numeric_limits<size_t>::max()); }, refused);
  EXPECT_THAT([] { KVCache(64, {0, 0}, size_t{1} << 58); }, refused);
  EXPECT_THAT([] { KVCache(0, {4, 4}, size_t{1} << 31); }, refused);
  EXPECT_THAT([] { KVCache(std::numeric_limits<size_t>::max(), {4, 4}, 2); }, refused);
}

TEST(State, HypothesesCarryTheirSourceAndDropItWithTheLastHeir) {
  State state(1, {4, 4}, 8);
  auto first = std::make_shared<const SourceMemory>(SourceMemory{5, 2, {}});
  auto second = std::make_shared<const SourceMemory>(SourceMemory{6, 3, {}});
  const std::weak_ptr<const SourceMemory> watcher = first;
  state.add(5, std::move(first));
  state.add(6, std::move(second));
  state.reorder(std::vector<uint32_t>{0, 1, 0});
  EXPECT_EQ(state.hypotheses(), 3u);
  EXPECT_EQ(state.id(2), 5u);
  EXPECT_EQ(state.source(2)->rows, 2u);
  EXPECT_EQ(state.source(1)->rows, 3u);
  state.reorder(std::vector<uint32_t>{1});
  EXPECT_EQ(state.id(0), 6u);
  EXPECT_TRUE(watcher.expired());
  state.cache().append(0, 8);
  state.clear();
  EXPECT_EQ(state.hypotheses(), 0u);
  EXPECT_EQ(state.cache().free_slots(), 8u);
}

}  // namespace
}  // namespace rapt

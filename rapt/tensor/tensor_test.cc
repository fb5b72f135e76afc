#include "rapt/tensor/tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#ifdef __linux__
#include <unistd.h>
#endif

#include <array>
#include <fstream>

namespace rapt {
namespace {

using ::testing::ElementsAre;

TEST(Shape, ReadsAsAMatrix) {
  const Shape shape{2, 3, 5};
  EXPECT_EQ(shape.rows(), 6u);
  EXPECT_EQ(shape.back(), 5u);
  EXPECT_EQ(shape.elements(), 30u);
  EXPECT_EQ(Shape{}.elements(), 1u);
  EXPECT_EQ(concat(shape), "[2, 3, 5]");
  EXPECT_THROW((Shape{1, 1, 1, 1, 1}), InvalidArgument);
}

TEST(Tensor, CopiesShareAndClonesDoNot) {
  const Tensor a = Tensor::of({2, 2}, std::array{1.0f, 2.0f, 3.0f, 4.0f});
  const Tensor same = a, other = a.clone();
  EXPECT_FALSE(a.unique());
  a.host()[0] = 9;
  EXPECT_EQ(same.host()[0], 9);
  EXPECT_EQ(other.host()[0], 1);
  EXPECT_THAT(a.slice_rows(1, 2).host(), ElementsAre(3, 4));
  EXPECT_THROW(a.reshape({3}), InvalidArgument);
}

TEST(Tensor, BorrowedMemoryKeepsItsOwner) {
  auto owner = std::make_shared<std::vector<float>>(6, 1.0f);
  const std::weak_ptr<std::vector<float>> watcher = owner;
  {
    const Tensor t = Tensor::borrow(owner->data() + 1, {5}, owner);
    owner.reset();
    EXPECT_FALSE(watcher.expired());
    EXPECT_EQ(t.host()[4], 1.0f);
  }
  EXPECT_TRUE(watcher.expired());
}

TEST(MemoryPool, GivesAlignedBlocksAndUsesThemAgain) {
  MemoryPool pool;
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{80}, size_t{1000}, size_t{3} << 20}) {
    const float* first = nullptr;
    for (int i = 0; i < 3; ++i) {
      const Tensor t(pool, {bytes / 4});
      EXPECT_EQ(reinterpret_cast<uintptr_t>(t.data()) % 64, 0u);
      if (i == 0) first = t.data();
      EXPECT_EQ(t.data(), first);
    }
  }
  EXPECT_EQ(pool.stats().bytes_in_use, 0u);
  EXPECT_EQ(pool.stats().system_allocations, 4u);  // 0 and 1 bytes share a block
  pool.trim();
  EXPECT_EQ(pool.stats().bytes, 0u);
}

TEST(MemoryPool, ASlightlyLargerBlockServesToo) {
  MemoryPool pool;
  { const Tensor t(pool, {1000}); }
  { const Tensor t(pool, {900}); }
  EXPECT_EQ(pool.stats().system_allocations, 1u);
  { const Tensor t(pool, {400}); }  // far smaller: a block of its own
  EXPECT_EQ(pool.stats().system_allocations, 2u);
}

TEST(MemoryPool, KeepsAsMuchAsItIsAskedTo) {
  MemoryPool pool;
  const Tensor used(pool, {1 << 20});
  { const Tensor small(pool, {1000}), medium(pool, {4000}), large(pool, {1 << 19}); }
  const size_t all = pool.stats().bytes;
  pool.trim(size_t{1} << 20);  // the largest goes first
  EXPECT_EQ(pool.stats().bytes, all - (size_t{4} << 19));
  pool.trim(size_t{1} << 20);
  EXPECT_EQ(pool.stats().bytes, all - (size_t{4} << 19));
  { const Tensor small(pool, {1000}), medium(pool, {4000}); }
  EXPECT_EQ(pool.stats().system_allocations, 4u);
}

#ifdef __linux__
TEST(MemoryPool, ABlockMayBeLargerThanTheMachineIfItIsNotUsed) {
  int overcommit = 2;  // never
  std::ifstream("/proc/sys/vm/overcommit_memory") >> overcommit;
  if (overcommit == 2) GTEST_SKIP() << "the system promises no more memory than it has";
  MemoryPool pool;
  const auto bytes = static_cast<size_t>(sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE));
  const Tensor t(pool, {bytes});  // four times as much
  t.host().front() = t.host().back() = 1;
  EXPECT_EQ(t.host().front() + t.host().back(), 2);
}
#endif

}  // namespace
}  // namespace rapt

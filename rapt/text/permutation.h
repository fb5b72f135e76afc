// Random orders without tables: position to item as a keyed bijection.
#pragma once
#include <cstdint>
#include <span>

namespace rapt {

// Item `i` of a random order of 0 … n - 1; i < n. A Feistel network on Philox over the next power of
// four, walked until it lands below n (Black and Rogaway, "Ciphers with Arbitrary Finite Domains",
// CT-RSA 2002). Pure: the same everywhere, for any i alone.
uint64_t permuted(uint64_t i, uint64_t n, uint64_t key);
// Items begin … begin + items.size() - 1 of that order; faster than one by one.
void permuted(uint64_t begin, std::span<uint64_t> items, uint64_t n, uint64_t key);

}  // namespace rapt

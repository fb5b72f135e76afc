// For the tests of claims: an experiment run on one and on two threads, which must agree, and what
// it measured.
#pragma once
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "rapt/insight/result.h"

namespace rapt::insight {

template <class Options>
class Measured {
 public:
  using Run = Result (*)(const Options&, const Setting&);

  Measured(Run run, const Options& options) {
    Pool one(1), two(2);
    result = run(options, {one});
    EXPECT_EQ(to_json(result), to_json(run(options, {two})));
    const Result korean = run(options, {one, 1, Language::kKorean});
    EXPECT_EQ(to_json(korean)["numbers"], to_json(result)["numbers"]);  // NaN is null there
    EXPECT_NE(korean.sentence, result.sentence);
    for (const auto& [key, value] : result.numbers) {
      EXPECT_TRUE(numbers_.emplace(key, value).second) << key << " stands twice";
    }
    for (const Table& table : result.tables) {
      for (const auto& row : table.rows) EXPECT_EQ(row.size(), table.columns.size()) << table.name;
    }
  }
  double operator[](const std::string& key) const { return numbers_.at(key); }

  Result result;

 private:
  std::map<std::string, double> numbers_;
};

}  // namespace rapt::insight

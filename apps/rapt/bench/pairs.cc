#include "apps/rapt/bench/pairs.h"

#include <algorithm>
#include <sstream>
#include <tuple>

#include "apps/rapt/bench/python_random.h"
#include "rapt/base/random.h"
#include "rapt/base/utf8.h"
#include "rapt/text/batch_items.h"
#include "rapt/text/vocabulary.h"

namespace rapt::app::bench {
namespace {

constexpr int32_t kBegin = 1, kEnd = 2, kFirst = 4;  // of kSpecialSymbols

using Tokens = std::vector<std::string>;

Tokens words_of(const std::string& line) {
  std::istringstream in(line);
  return {std::istream_iterator<std::string>(in), {}};
}

Tokens letters_of(const std::string& line) {
  Tokens letters;
  for (size_t begin = 0, end; begin < line.size(); begin = end) {
    end = begin + 1;
    while (end < line.size() && (line[end] & 0xC0) == 0x80) ++end;  // the rest of a code point
    letters.push_back(line.substr(begin, end - begin));
  }
  return letters;
}

struct TokenPair {
  Tokens source, target;
};

std::vector<TokenPair> read_tokens(const std::string& path) {
  const bool folder = fs::is_directory(path);
  const auto corpus =
      folder ? ParallelCorpus::open({fs::path(path) / "train.en", fs::path(path) / "train.de"})
             : ParallelCorpus::open({path});
  std::vector<TokenPair> pairs;
  for (uint64_t i = 0; i < corpus.size(); ++i) {
    const ParallelCorpus::Pair pair = corpus.pair(i);
    pairs.push_back(
        {folder ? words_of(pair.source) : letters_of(pair.source), words_of(pair.target)});
  }
  return pairs;
}

std::vector<int32_t> drawn(size_t n, size_t vocabulary, uint64_t key, uint64_t first) {
  std::vector<int32_t> ids(n);
  for (size_t i = 0; i < n; ++i) {
    const double u = uniform(key, first + i);
    ids[i] = kFirst + static_cast<int32_t>(u * static_cast<double>(vocabulary - kFirst));
  }
  return ids;
}

}  // namespace

Pairs read_pairs(const std::string& path) {
  const std::vector<TokenPair> tokens = read_tokens(path);
  PieceCounts counts;
  for (const TokenPair& pair : tokens) {
    for (const Tokens* side : {&pair.source, &pair.target}) {
      for (const std::string& token : *side) counts.add(token);
    }
  }
  const Vocabulary vocabulary = Vocabulary::of_counts(counts, 1, 0);
  const auto ids_of = [&](const Tokens& side) {
    std::vector<int32_t> ids;
    for (const std::string& token : side) ids.push_back(*vocabulary.find(token));
    return ids;
  };
  Pairs pairs{.examples = {}, .vocabulary = vocabulary.size()};
  for (size_t i = 0; i < tokens.size(); ++i) {
    pairs.examples.push_back({i, ids_of(tokens[i].source), ids_of(tokens[i].target)});
  }
  return pairs;
}

// Lengths spread evenly from a least to a most, with the mean of the data: 14.4 and 15.4 tokens a
// sentence of Multi30k in subwords, 7.5 letters and 6.3 phonemes a word.
Pairs draw_pairs(const std::string& size) {
  struct Spread {
    size_t least, count;
  };
  const bool words = size == "g2p";
  const Spread source = words ? Spread{4, 8} : Spread{7, 16};
  const Spread target = words ? Spread{3, 8} : Spread{8, 16};
  constexpr size_t kPairs = 8000;
  Pairs pairs{.examples = {}, .vocabulary = words ? size_t{76} : size_t{9712}};
  const uint64_t key = op_key(1, Stream::kSample, site_of("bench"), 0);
  for (size_t i = 0; i < kPairs; ++i) {
    const size_t n = source.least + i * 7 % source.count, m = target.least + i * 5 % target.count;
    const uint64_t first = i * 1024;
    pairs.examples.push_back(
        {i, drawn(n, pairs.vocabulary, key, first), drawn(m, pairs.vocabulary, key, first + 512)});
  }
  return pairs;
}

std::vector<Update> make_batches(const Pairs& pairs, size_t target_tokens) {
  std::vector<const Example*> order;
  for (const Example& e : pairs.examples) order.push_back(&e);
  std::ranges::stable_sort(order, [](const Example* a, const Example* b) {
    return std::tuple(a->target.size(), a->source.size()) <
           std::tuple(b->target.size(), b->source.size());
  });
  std::vector<std::vector<const Example*>> batches(1);
  size_t tokens = 0;
  for (const Example* e : order) {
    const size_t more = e->target.size() + 1;
    if (!batches.back().empty() && tokens + more > target_tokens) {
      batches.emplace_back();
      tokens = 0;
    }
    batches.back().push_back(e);
    tokens += more;
  }
  PythonRandom(1).shuffle(batches);

  std::vector<Update> updates;
  for (const auto& batch : batches) {
    std::vector<BatchRows> rows;
    Update update;
    for (const Example* e : batch) {
      rows.push_back({e->id, e->source, {kBegin}, e->target});
      rows.back().source.push_back(kEnd);
      rows.back().target_in.insert(rows.back().target_in.end(), e->target.begin(), e->target.end());
      rows.back().target_out.push_back(kEnd);
      update.target_tokens += e->target.size() + 1;
    }
    update.shards.push_back(assemble(rows));
    updates.push_back(std::move(update));
  }
  return updates;
}

}  // namespace rapt::app::bench

#include "rapt/insight/attention.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "rapt/base/random.h"
#include "rapt/base/utf8.h"
#include "rapt/insight/draws.h"
#include "rapt/insight/result.h"
#include "rapt/insight/scale.h"
#include "rapt/insight/weights.h"
#include "rapt/ops/attention.h"

namespace rapt::insight {
namespace {

constexpr size_t kMostWords = 12;  // what the eye takes in

// One column a word, stored word by word: row-major [words, size] to those who read rows.
struct Matrix {
  size_t size = 0, words = 0;
  std::vector<double> values = {};

  Matrix(size_t size, size_t words) : size(size), words(words), values(size * words) {}
  double& at(size_t i, size_t word) { return values[word * size + i]; }
  double at(size_t i, size_t word) const { return values[word * size + i]; }
  std::span<const double> column(size_t word) const {
    return std::span(values).subspan(word * size, size);
  }
};

struct Sentence {
  std::vector<std::string> words;
  Matrix q, k, v;
};

// "the old cat sleeps". Components: noun, adjective, verb, article. A key says what its word is, a
// query what its word looks for: "sleeps" its noun, the noun its adjective and its verb.
Sentence sentence_by_hand(const Setting& setting) {
  Sentence s{{setting.say("the", "그"), setting.say("old", "늙은"), setting.say("cat", "고양이가"),
              setting.say("sleeps", "잔다")},
             {4, 4},
             {4, 4},
             {2, 4}};
  s.q.values = {2, 1, 0, 0, 3, 0, 0, 0, 0, 2, 1, 0, 4, 0, 0, 1};
  s.k.values = {0, 0, 0, 2, 0, 2, 0, 0, 2, 0, 0, 0, 0, 0, 2, 0};
  s.v.values = {0, 1, 2, 0, 4, 2, 0, 4};
  return s;
}

// A whole number from -2 to 2 for each component; equal words have equal vectors.
void draw_matrix(Matrix& m, const std::vector<std::string>& words, const Setting& setting,
                 std::string_view name) {
  for (size_t w = 0; w < m.words; ++w) {
    const uint64_t key = draw_key(setting.seed, concat("attention.", name, '.', words[w]));
    for (size_t i = 0; i < m.size; ++i) m.at(i, w) = std::floor(5 * uniform(key, i)) - 2;
  }
}

Sentence drawn_sentence(const AttentionOptions& o, const Setting& setting) {
  std::vector<std::string> words;
  if (o.input.empty()) {
    words = sentence_by_hand(setting).words;
  } else {
    std::istringstream in(o.input);
    for (std::string word; in >> word;) words.push_back(word);
  }
  check(!words.empty() && words.size() <= kMostWords, "--input has ", words.size(),
        " words, expected 1 to ", kMostWords);
  Sentence s{words, {o.d_k, words.size()}, {o.d_k, words.size()}, {o.d_v, words.size()}};
  draw_matrix(s.q, words, setting, "query");
  draw_matrix(s.k, words, setting, "key");
  draw_matrix(s.v, words, setting, "value");
  return s;
}

// What attention makes of a sentence, step by step; columns are queries.
struct Steps {
  Matrix scores, scaled, weights, output;
};

Steps attend(const Sentence& s, double scale) {
  const size_t n = s.words.size();
  Steps steps{{n, n}, {n, n}, {n, n}, {s.v.size, n}};
  for (size_t query = 0; query < n; ++query) {
    for (size_t key = 0; key < n; ++key) {
      double sum = 0;
      for (size_t i = 0; i < s.q.size; ++i) sum += s.k.at(i, key) * s.q.at(i, query);
      steps.scores.at(key, query) = sum;
      steps.scaled.at(key, query) = sum * scale;
    }
    const std::vector<double> p = softmax(steps.scaled.column(query));
    for (size_t key = 0; key < n; ++key) {
      steps.weights.at(key, query) = p[key];
      for (size_t i = 0; i < s.v.size; ++i) {
        steps.output.at(i, query) += s.v.at(i, key) * p[key];
      }
    }
  }
  return steps;
}

// The greatest difference from what rapt's own attention gives: it reads the same memory as rows.
double difference_from_kernel(const Sentence& s, const Steps& steps, double scale, Pool& pool) {
  Context ctx(Mode::kInference, pool);
  const auto rows = [](const Matrix& m) {
    const std::vector<float> values(m.values.begin(), m.values.end());
    return Var(Tensor::of({m.words, m.size}, values));
  };
  const Lengths words = Lengths::single(s.words.size());
  const ops::AttentionArgs args{
      .dim = s.q.size, .dim_v = s.v.size, .scale = static_cast<float>(scale)};
  const Var output = ops::attention(ctx, {rows(s.q)}, {rows(s.k)}, {rows(s.v)}, words, words, args);
  double greatest = 0;
  for (size_t i = 0; i < output.size(); ++i) {
    greatest = std::max(greatest, std::fabs(output.span()[i] - steps.output.values[i]));
  }
  return greatest;
}

std::vector<std::string> numbered(const std::string& stem, size_t n) {
  std::vector<std::string> names;
  for (size_t i = 1; i <= n; ++i) names.push_back(stem + std::to_string(i));
  return names;
}

// A matrix to be shown: by columns as the notes write it, or by rows as programs store it.
struct View {
  std::string name, title, down_axis, across_axis;  // as the notes write it
  std::vector<std::string> down, across;
  const Matrix& matrix;
  plot::Range range;
  bool sums = false;  // with the sums of the columns

  std::vector<double> column(size_t c) const {
    const std::span<const double> values = matrix.column(c);
    std::vector<double> out(values.begin(), values.end());
    if (sums) {
      double sum = 0;
      for (const double v : values) sum += v;
      out.push_back(sum);
    }
    return out;
  }
  std::vector<std::string> down_names() const {
    std::vector<std::string> names = down;
    if (sums) names.emplace_back("Σ");
    return names;
  }
};

plot::HeatMap heat_map(const View& v, Orientation orientation) {
  const bool notes = orientation == Orientation::kNotes;
  plot::HeatMap map{.title = v.title,
                    .row_axis = notes ? v.down_axis : v.across_axis,
                    .column_axis = notes ? v.across_axis : v.down_axis,
                    .rows = notes ? v.down_names() : v.across,
                    .columns = notes ? v.across : v.down_names(),
                    .range = v.range,
                    .numbers = true};
  map.values.resize(map.rows.size() * map.columns.size());
  for (size_t c = 0; c < v.across.size(); ++c) {
    const std::vector<double> column = v.column(c);
    for (size_t r = 0; r < column.size(); ++r) {
      map.values[notes ? r * map.columns.size() + c : c * map.columns.size() + r] = column[r];
    }
  }
  return map;
}

Table table_of(const View& v, Orientation orientation) {
  const plot::HeatMap map = heat_map(v, orientation);
  Table table{v.name, v.title, {{"row", concat(map.row_axis, " \\ ", map.column_axis)}}, {}};
  for (size_t c = 0; c < map.columns.size(); ++c) {
    table.columns.push_back({concat("column_", c + 1), map.columns[c]});
  }
  for (size_t r = 0; r < map.rows.size(); ++r) {
    table.rows.push_back({map.rows[r]});
    for (size_t c = 0; c < map.columns.size(); ++c) {
      table.rows.back().push_back(map.values[r * map.columns.size() + c]);
    }
  }
  return table;
}

plot::Range range_of(std::initializer_list<const Matrix*> matrices) {
  std::vector<const std::vector<double>*> values;
  for (const Matrix* m : matrices) values.push_back(&m->values);
  return plot::range_of(values);
}

std::vector<View> views_of(const Sentence& s, const Steps& t, const Setting& setting,
                           Orientation orientation) {
  const auto say = [&](std::string_view en, std::string_view ko) { return setting.say(en, ko); };
  const bool notes = orientation == Orientation::kNotes;
  const std::string key = say("key", "키"), query = say("query", "쿼리"),
                    word = say("word", "단어");
  const std::string component = say("component", "성분");
  const std::string sums = notes ? say(" (columns sum to 1)", "(열의 합 = 1)")
                                 : say(" (rows sum to 1)", "(행의 합 = 1)");
  const plot::Range vectors = range_of({&s.q, &s.k, &s.v});
  const plot::Range scores = range_of({&t.scores, &t.scaled});
  const auto d_k = numbered("", s.q.size), d_v = numbered("", s.v.size);
  const auto& words = s.words;
  return {{"queries", notes ? "Q" : "Qᵀ", component, word, d_k, words, s.q, vectors},
          {"keys", notes ? "K" : "Kᵀ", component, word, d_k, words, s.k, vectors},
          {"values", notes ? "V" : "Vᵀ", component, word, d_v, words, s.v, vectors},
          {"scores", say(notes ? "Scores KᵀQ" : "Scores QᵀK", notes ? "점수 KᵀQ" : "점수 QᵀK"), key,
           query, words, words, t.scores, scores},
          {"scaled", say("Scaled scores", "스케일링한 점수"), key, query, words, words, t.scaled,
           scores},
          {"weights", say("Weights", "가중치"), key, query + sums, words, words, t.weights,
           plot::Range{0, 1}, true},
          {"output", say("Output: weighted values", "출력: 가중합한 값"), component, word, d_v,
           words, t.output, vectors}};
}

// The sums in the direction that does not sum to 1: of all weights that a key receives.
std::pair<double, double> received(const Matrix& weights) {
  std::vector<double> sums(weights.size);
  for (size_t query = 0; query < weights.words; ++query) {
    for (size_t key = 0; key < weights.size; ++key) sums[key] += weights.at(key, query);
  }
  const auto [low, high] = std::ranges::minmax(sums);
  return {low, high};
}

double sum_error(const Matrix& weights) {
  double error = 0;
  for (size_t query = 0; query < weights.words; ++query) {
    double sum = 0;
    for (const double p : weights.column(query)) sum += p;
    error = std::max(error, std::fabs(sum - 1));
  }
  return error;
}

}  // namespace

Result attention(const AttentionOptions& o, const Setting& setting) {
  const double scale = scale_of(o.scale, o.d_k);
  const Sentence s = o.by_hand() ? sentence_by_hand(setting) : drawn_sentence(o, setting);
  const Steps t = attend(s, scale);
  const size_t last = s.words.size() - 1;
  const std::span<const double> weights = t.weights.column(last);
  const size_t favourite = static_cast<size_t>(std::ranges::max_element(weights) - weights.begin());
  const double difference = difference_from_kernel(s, t, scale, setting.pool);
  const auto [low, high] = received(t.weights);

  Result result;
  result.figure = {.title = setting.say("Attention by hand", "손으로 계산하는 어텐션"),
                   .caption = concat(setting.say("n = ", "n = "), s.words.size(), ", d_k = ", o.d_k,
                                     ", d_v = ", o.d_v),
                   .columns = 3};
  for (const View& view : views_of(s, t, setting, o.orientation)) {
    result.figure.panels.push_back(heat_map(view, o.orientation));
    result.tables.push_back(table_of(view, o.orientation));
  }
  result.numbers = {{"words", static_cast<double>(s.words.size())},
                    {"sum_error", sum_error(t.weights)},
                    {"received_low", low},
                    {"received_high", high},
                    {"last_word_greatest_weight", weights[favourite]},
                    {"kernel_difference", difference}};
  const bool holds = sum_error(t.weights) < 1e-12 && difference < 1e-5;
  result.verdict = holds ? Verdict::kHolds : Verdict::kFails;
  result.sentence = setting.say(
      concat("the weights of each query sum to 1, while a key receives ", show(low, 3), " to ",
             show(high, 3), " in all; '", s.words[last], "' takes ",
             show(100 * weights[favourite], 3), " % of its output from '", s.words[favourite],
             "'. rapt's attention, which reads the same memory as rows, differs by ",
             show(difference, 2), " at most."),
      concat("쿼리마다 가중치의 합은 1이고, 한 키가 받는 가중치의 합은 ", show(low, 3), "~",
             show(high, 3), "이다. '", s.words[last], "'의 출력은 ",
             show(100 * weights[favourite], 3), "%가 '", s.words[favourite],
             "'에서 온다. 같은 메모리를 행으로 읽는 rapt의 어텐션과의 차이는 최대 ",
             show(difference, 2), "이다."));
  return result;
}

}  // namespace rapt::insight

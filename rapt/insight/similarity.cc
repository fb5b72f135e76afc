#include "rapt/insight/similarity.h"

#include <array>
#include <cmath>

#include "rapt/base/random.h"
#include "rapt/base/scalar_math.h"
#include "rapt/insight/draws.h"
#include "rapt/insight/result.h"
#include "rapt/insight/statistics.h"

namespace rapt::insight {
namespace {

constexpr size_t kStep = 15;  // degrees between measured angles

// Without the error of float, which would show where the truth is 0.
double rounded(double v) { return std::round(v * 1e6) / 1e6; }

double length_of(std::span<const float> x) { return std::sqrt(dot(x, x)); }

double cosine(std::span<const float> x, std::span<const float> y) {
  return dot(x, y) / (length_of(x) * length_of(y));
}

void scale_to(std::span<float> x, double length) {
  const float factor = static_cast<float>(length / length_of(x));
  for (float& v : x) v *= factor;
}

// A query of length 1, and a direction of length 1 at a right angle to it.
struct Plane {
  std::vector<float> query, normal;

  Plane(size_t d, uint64_t key) : query(d), normal(d) {
    draw_vector(query, key, 0, {});
    draw_vector(normal, key, 1, {});
    scale_to(query, 1);
    const float along = static_cast<float>(dot(query, normal));
    for (size_t i = 0; i < d; ++i) normal[i] -= along * query[i];
    scale_to(normal, 1);
  }
  std::vector<float> key(double degrees, double length) const {
    const double angle = degrees * scalar::kPi / 180;
    const double c = length * scalar::cos(angle), s = length * scalar::sin(angle);
    std::vector<float> k(query.size());
    for (size_t i = 0; i < k.size(); ++i) k[i] = static_cast<float>(c * query[i] + s * normal[i]);
    return k;
  }
};

// How the two keys of a draw get their lengths.
enum class Lengths { kEqual, kDrawn, kSpread };

// The share of draws (query, two keys) in which the key of the greater dot product is also that of
// the smaller angle.
double agreement(const SimilarityOptions& o, const Setting& setting, Lengths lengths) {
  const uint64_t key = draw_key(setting.seed, "similarity.vectors");
  const uint64_t length_key = draw_key(setting.seed, "similarity.lengths");
  const double ratio = scalar::log(o.longest / o.shortest);
  const auto agrees = [&](size_t draw, std::span<float> scratch) {
    const auto part = [&](size_t i) { return scratch.subspan(i * o.d_k, o.d_k); };
    for (size_t i = 0; i < 3; ++i) draw_vector(part(i), key, 3 * draw + i, {});
    for (size_t i = 1; i < 3 && lengths != Lengths::kDrawn; ++i) {
      const double t = uniform(length_key, 2 * draw + i - 1);
      const double spread = o.shortest * scalar::exp(t * ratio);
      scale_to(part(i), lengths == Lengths::kEqual ? 1 : spread);
    }
    const bool by_dot = dot(part(0), part(1)) > dot(part(0), part(2));
    const bool by_angle = cosine(part(0), part(1)) > cosine(part(0), part(2));
    return by_dot == by_angle ? 1.0 : 0.0;
  };
  return mean_of(measure_draws(o.draws, 3 * o.d_k, setting.pool, agrees));
}

}  // namespace

Result similarity(const SimilarityOptions& o, const Setting& setting) {
  check(o.shortest < o.longest, "--shortest is ", o.shortest, " and --longest ", o.longest,
        ", expected the first below the second");
  const auto say = [&](std::string_view en, std::string_view ko) { return setting.say(en, ko); };
  const Plane plane(o.d_k, draw_key(setting.seed, "similarity.plane"));
  const std::array kLengths = {o.shortest, 1.0, o.longest};

  Table by_angle{"by_angle",
                 say("Query of length 1, key at an angle", "길이 1인 쿼리와, 각도를 달리한 키"),
                 {{"angle", say("angle (degrees)", "각도(도)")},
                  {"dot_short", concat("q·k, |k| = ", show(o.shortest))},
                  {"dot_unit", "q·k, |k| = 1"},
                  {"dot_long", concat("q·k, |k| = ", show(o.longest))},
                  {"cosine", say("cosine", "코사인")}},
                 {}};
  const plot::Axis angle_axis{say("angle between query and key", "쿼리와 키 사이의 각도"),
                              say("degrees", "도"), false, plot::Range{0, 180}};
  plot::LineChart dots{.title = say("Dot product", "내적"), .x = angle_axis, .y = {.label = "q·k"}};
  plot::LineChart cosines{.title = say("Cosine", "코사인"),
                          .x = angle_axis,
                          .y = {.label = "q·k / (|q| |k|)", .range = plot::Range{-1, 1}}};
  for (const double length : kLengths) {
    const std::string name = concat("|k| = ", show(length));
    dots.series.push_back({name, {}, {}});
    cosines.series.push_back({name, {}, {}});
  }
  for (size_t degrees = 0; degrees <= 180; degrees += kStep) {
    std::vector<Cell> row = {degrees};
    for (size_t i = 0; i < kLengths.size(); ++i) {
      const std::vector<float> k = plane.key(static_cast<double>(degrees), kLengths[i]);
      row.push_back(rounded(dot(plane.query, k)));
      for (plot::LineChart* chart : {&dots, &cosines}) {
        chart->series[i].x.push_back(static_cast<double>(degrees));
      }
      dots.series[i].y.push_back(dot(plane.query, k));
      cosines.series[i].y.push_back(cosine(plane.query, k));
    }
    row.push_back(rounded(cosines.series[1].y.back()));
    by_angle.rows.push_back(std::move(row));
  }

  const double equal = 100 * agreement(o, setting, Lengths::kEqual);
  const double drawn = 100 * agreement(o, setting, Lengths::kDrawn);
  const double spread = 100 * agreement(o, setting, Lengths::kSpread);
  const std::string spread_name = concat(show(o.shortest), " … ", show(o.longest));
  Table ranking{"ranking",
                say("Of two random keys, the one of the greater dot product has the smaller angle",
                    "무작위 키 두 개 중 내적이 큰 쪽의 각도가 더 작은 비율"),
                {{"lengths", say("lengths of the keys", "키의 길이")},
                 {"agreement", say("share (%)", "비율(%)")}},
                {{say("equal", "같음"), equal},
                 {say("of normal components", "성분이 정규분포"), drawn},
                 {spread_name, spread}}};
  plot::Bars bars{.title = say("The greater dot product has the smaller angle",
                               "내적이 큰 키의 각도가 더 작은 비율"),
                  .category_axis = say("lengths of the keys", "키의 길이"),
                  .series = {{"", {equal, drawn, spread}, {}, {}}},
                  .value = {say("share of draws", "비율"), "%", false, plot::Range{0, 100}}};
  for (const auto& row : ranking.rows)
    bars.categories.push_back(std::get<std::string>(row[0].value));

  Result result;
  result.figure = {
      .title = say("The dot product as a measure of likeness", "유사도의 척도로서의 내적"),
      .caption =
          concat("d_k = ", o.d_k, ", ", o.draws,
                 say(" random triples (query, key, key)", "개의 무작위 (쿼리, 키, 키) 표본")),
      .panels = {dots, cosines, bars},
      .columns = 2};
  result.numbers = {{"agreement_equal_lengths", equal},
                    {"agreement_drawn_lengths", drawn},
                    {"agreement_spread_lengths", spread},
                    {"dot_long_at_60", rounded(dot(plane.query, plane.key(60, o.longest)))},
                    {"dot_unit_at_0", rounded(dot(plane.query, plane.key(0, 1)))}};
  result.tables = {std::move(by_angle), std::move(ranking)};
  result.verdict = equal == 100 && spread < 100 ? Verdict::kHoldsWhen
                   : equal == 100               ? Verdict::kHolds
                                                : Verdict::kFails;
  const std::string at_60 = show(result.numbers[3].second), at_0 = show(result.numbers[4].second);
  const bool when = result.verdict == Verdict::kHoldsWhen;
  const bool beats = o.longest / 2 > 1;  // cos 60°
  result.sentence = say(
      concat(when ? "the vectors have equal lengths: then " : "with equal lengths ",
             "the greater dot product belongs to the smaller angle in ", show(equal),
             " % of the draws; with keys of length ", spread_name, " in ", show(spread), " %",
             beats ? concat(", since a key of length ", show(o.longest), " at 60 degrees (q·k = ",
                            at_60, ") can beat one of length 1 at 0 degrees (q·k = ", at_0, ").")
                   : "."),
      concat(when ? "벡터의 길이가 같을 때이다. 그때는" : "길이가 같으면", " 표본의 ", show(equal),
             "%에서 내적이 큰 쪽의 각도가 더 작다. 키의 길이가 ", spread_name,
             "로 다르면 그 비율은 ", show(spread), "%이다.",
             beats ? concat(" 길이 ", show(o.longest), ", 각도 60도인 키의 내적(", at_60,
                            ")이 길이 1, 각도 0도인 키의 내적(", at_0, ")보다 클 수 있기 때문이다.")
                   : ""));
  return result;
}

}  // namespace rapt::insight

#include "rapt/insight/head_attention.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "rapt/base/file.h"
#include "rapt/base/scalar_math.h"
#include "rapt/base/utf8.h"
#include "rapt/decode/decoder.h"
#include "rapt/insight/weights.h"

namespace rapt::insight {
namespace {

using Kind = AttentionMap::Kind;

Example example_of(const Model& model, const std::string& text, const std::string& where,
                   uint64_t number, Pool& pool) {
  UnknownSymbols unknown;
  Example e;
  e.id = number;
  const bool pairs = model.text.has_source();
  const size_t tab = pairs ? text.find('\t') : std::string::npos;
  const std::string input = text.substr(0, tab);
  const TextSide& side = pairs ? model.text.source() : model.text.target();
  std::vector<int32_t>& ids = pairs ? e.source : e.target;
  ids = side.encode(input, number + 1, &unknown);
  check(!ids.empty(), where, " is empty, expected a text that the model reads");
  check(unknown.count() < ids.size(), where, " has no symbol that the model knows, first: '",
        unknown.count() == 0 ? "" : unknown.first()[0].symbol, "'");
  if (!pairs) return e;
  if (tab != std::string::npos) {
    e.target = model.text.target().encode(text.substr(tab + 1), number + 1, &unknown);
    return e;
  }
  std::vector<int32_t> source = e.source;
  source.push_back(side.ids().eos);
  Decoder decoder(model, {}, pool);
  const Sentence sentence = decoder.sentence(std::move(source), {});
  e.target = decoder.decode({&sentence, 1}).front().front().ids;
  return e;
}

constexpr double kRounding = 1e-5;  // of a row of weights in float

// Calls f(row, visible keys) for each query of a map.
template <class F>
void for_each_query(const AttentionMap& map, const AttentionMaps& text, const F& f) {
  const size_t queries = text.queries(map.kind).size(), keys = text.keys(map.kind).size();
  for (size_t q = 0; q < queries; ++q) {
    const size_t visible = map.kind == Kind::kDecoder ? q + 1 : keys;
    f(q, std::span(map.weights).subspan(q * keys, visible));
  }
}

void add(HeadLook& look, const AttentionMap& map, const AttentionMaps& text) {
  for_each_query(map, text, [&](size_t q, std::span<const double> p) {
    const auto at = [&](size_t key) { return key < p.size() ? p[key] : 0.0; };
    const size_t last = p.size() - 1;
    const std::array<double, kPlaces> weight = {
        p[0], q == 0 ? 0.0 : at(q - 1), at(q), at(q + 1), p[last], q > last ? 0.0 : p[last - q]};
    for (size_t i = 0; i < kPlaces; ++i) look.weight[i] += weight[i];
    double all = 0;
    for (const double w : p) all += w;
    look.queries += 1;
    look.sink += 1 - all > kRounding ? 1 - all : 0;
    look.effective_keys += scalar::exp(entropy(p));
    const SeenKeys seen = keys_seen(map.kind, text.window, q, p.size());
    if (seen.count == 1 || seen.first > 0) return;
    look.several += 1;
    look.first_of_several += p[0];
    look.even_share += 1 / static_cast<double>(seen.count);
  });
}

}  // namespace

void TextOptions::validate() const {
  if (model.empty()) {
    check(input.empty() && data.empty(),
          "--input and --data are read by --model, which is not given");
    return;
  }
  check(input.empty() != data.empty(),
        "--model reads --input TEXT or --data FILE: give one of them");
}

std::vector<AttentionMaps> attention_of(const TextOptions& o, Pool& pool) {
  const Model model = load_model(o.model);
  std::vector<AttentionMaps> texts;
  const auto look = [&](const std::string& text, const std::string& where) {
    texts.push_back(
        attention_maps(model, example_of(model, text, where, texts.size(), pool), pool));
  };
  if (!o.input.empty()) {
    look(o.input, "--input");
    return texts;
  }
  LineReader reader(o.data);
  std::string line;
  while (texts.size() < o.lines && reader.next(line)) {
    check_utf8(line, reader.name(), reader.line());
    look(line, concat(reader.name(), ": line ", reader.line()));
  }
  check(!texts.empty(), "--data is '", o.data, "', which is empty, expected a line of text");
  return texts;
}

std::vector<AttentionMaps> attention_of(const TaskModel& model, const TaskBatch& batch,
                                        Pool& pool) {
  std::vector<AttentionMaps> texts(batch.sentences.sequences());
  for (size_t s = 0; s < texts.size(); ++s) {
    for (size_t row = batch.sentences.offset(s); row < batch.sentences.offset(s + 1); ++row) {
      texts[s].source.push_back(std::to_string(batch.ids[row]));
    }
    texts[s].target = texts[s].source;
  }
  const Kind kind = model.causal() ? Kind::kDecoder : Kind::kEncoder;
  Context ctx(Mode::kInference, pool);
  size_t layer = 0;
  ctx.observe([&](std::string_view name, const Tensor& value) {
    if (!name.ends_with(".weights")) return;
    for (size_t head = 0; head < value.rows(); ++head) {
      std::span<const float> rest = value.matrix().row(head);
      for (AttentionMaps& text : texts) {
        const size_t size = text.source.size() * text.source.size();
        text.maps.push_back(
            {kind, layer, head, {rest.begin(), rest.begin() + static_cast<int>(size)}});
        rest = rest.subspan(size);
      }
    }
    ++layer;
  });
  model.encode(ctx, batch);
  return texts;
}

Place HeadLook::favourite() const {
  return static_cast<Place>(std::ranges::max_element(weight) - weight.begin());
}

std::vector<HeadLook> looks_of(const std::vector<AttentionMaps>& texts) {
  std::vector<HeadLook> looks;
  for (const AttentionMap& map : texts.front().maps) {
    looks.push_back({map.kind, map.layer, map.head});
  }
  for (const AttentionMaps& text : texts) {
    for (size_t i = 0; i < looks.size(); ++i) add(looks[i], text.maps[i], text);
  }
  for (HeadLook& look : looks) {
    for (double& w : look.weight) w /= look.queries;
    look.sink /= look.queries;
    look.effective_keys /= look.queries;
    look.first_of_several /= look.several;
    look.even_share /= look.several;
  }
  return looks;
}

std::vector<LayerDistance> distances_of(const std::vector<AttentionMaps>& texts) {
  struct Sum {
    double distance = 0, count = 0;
  };
  std::map<std::pair<Kind, size_t>, Sum> layers;
  for (const AttentionMaps& text : texts) {
    for (size_t a = 0; a < text.maps.size(); ++a) {
      const AttentionMap& map = text.maps[a];
      for (size_t b = 0; b < a; ++b) {
        const AttentionMap& other = text.maps[b];
        if (other.kind != map.kind || other.layer != map.layer) continue;
        Sum& sum = layers[{map.kind, map.layer}];
        for_each_query(map, text, [&](size_t q, std::span<const double> p) {
          if (p.size() == 1) return;
          const size_t keys = text.keys(map.kind).size();
          sum.distance += moved(p, std::span(other.weights).subspan(q * keys, p.size()));
          sum.count += 1;
        });
      }
    }
  }
  std::vector<LayerDistance> distances;
  for (const auto& [place, sum] : layers) {
    distances.push_back({place.first, place.second, sum.distance / sum.count});
  }
  return distances;
}

std::string name_of_kind(Kind kind, const Setting& s) {
  return kind == Kind::kEncoder   ? s.say("encoder", "인코더")
         : kind == Kind::kDecoder ? s.say("decoder", "디코더")
                                  : s.say("cross attention", "교차 어텐션");
}

std::string name_of_head(const HeadLook& look, const Setting& s) {
  return concat(s.say("layer ", "층 "), look.layer + 1, s.say(", head ", ", 헤드 "), look.head + 1);
}

std::string name_of_place(size_t place, const Setting& s) {
  switch (place) {
    case kFirst:
      return s.say("first key", "첫 키");
    case kPrevious:
      return s.say("previous", "바로 앞");
    case kSame:
      return s.say("same position", "같은 위치");
    case kNext:
      return s.say("next", "바로 뒤");
    case kLast:
      return s.say("last key", "마지막 키");
    default:
      return s.say("mirrored", "거울 위치");
  }
}

}  // namespace rapt::insight

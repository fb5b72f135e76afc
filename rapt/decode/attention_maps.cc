#include "rapt/decode/attention_maps.h"

#include <algorithm>

namespace rapt {
namespace {

using Kind = AttentionMap::Kind;

std::vector<std::string> symbols(const TextSide& side, std::span<const int32_t> ids) {
  std::vector<std::string> names;
  for (const int32_t id : ids) names.push_back(side.display(id));
  return names;
}

}  // namespace

std::optional<AttentionPlace> attention_place(std::string_view watched) {
  if (!watched.ends_with(".weights")) return std::nullopt;
  const Kind kind = watched.starts_with("encoder.")                              ? Kind::kEncoder
                    : watched.find(".multihead_attn.") != std::string_view::npos ? Kind::kCross
                                                                                 : Kind::kDecoder;
  const std::string_view layers = "layers.";
  const size_t at = watched.find(layers) + layers.size();
  return AttentionPlace{kind, std::stoul(std::string(watched.substr(at)))};
}

SeenKeys keys_seen(Kind kind, size_t window, size_t i, size_t keys) {
  if (kind == Kind::kCross) return {0, keys};
  const size_t first = window == 0 || i < window ? 0 : i - window;
  const size_t after = kind == Kind::kDecoder ? 0 : window == 0 ? keys : window;
  return {first, std::min(keys, i + after + 1) - first};
}

AttentionMaps attention_maps(const Model& model, const Example& example, Pool& pool) {
  const size_t most = model.transformer.config().max_positions;
  check(example.source.size() < most && example.target.size() < most, "the input has ",
        example.source.size() + 1, " and the output ", example.target.size() + 1,
        " tokens, the model takes ", most);
  const Shard shard = make_shard({&example, 1}, model.text);
  AttentionMaps result;
  result.sink = model.transformer.config().attention_sink;
  result.window = model.transformer.config().window;
  if (model.text.has_source()) result.source = symbols(model.text.source(), shard.source_ids);
  result.target = symbols(model.text.target(), shard.target_in);

  Context ctx(Mode::kInference, pool);
  ctx.observe([&](std::string_view name, const Tensor& value) {
    const std::optional<AttentionPlace> place = attention_place(name);
    if (!place) return;
    for (size_t head = 0; head < value.rows(); ++head) {
      const std::span<const float> row = value.matrix().row(head);
      result.maps.push_back({place->kind, place->layer, head, {row.begin(), row.end()}});
    }
  });
  model.transformer.decoder_output(ctx, shard);
  std::ranges::stable_sort(result.maps, {}, &AttentionMap::kind);
  return result;
}

}  // namespace rapt

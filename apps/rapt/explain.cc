// rapt explain: what every attention head looked at, for one input.
#include <iostream>
#include <map>

#include "apps/rapt/command_line.h"
#include "apps/rapt/exit_codes.h"
#include "apps/rapt/output.h"
#include "rapt/decode/attention_maps.h"
#include "rapt/decode/decoder.h"
#include "rapt/plot/html.h"
#include "rapt/plot/svg.h"
#include "rapt/plot/text.h"

namespace rapt::app {
namespace {

using Kind = AttentionMap::Kind;

constexpr std::string_view kKindNames[] = {"encoder", "decoder", "cross"};
constexpr std::string_view kTitles[] = {"encoder self-attention", "decoder self-attention",
                                        "cross attention"};

struct Options {
  std::string model, input, output, out;
  std::vector<std::string> kinds;
  int64_t layer = -1, head = -1;  // -1: all
  size_t beam = 4, threads = 1;
  bool has_output = false;
};

// The pair to look at: the output as given, or as the model decodes it.
Example example_of(const Model& model, const Options& o, Pool& pool, UnknownSymbols& unknown) {
  Example e;
  check_option_text("--input", o.input);
  check_option_text("--output", o.output);
  if (!model.text.has_source()) {
    check(!o.has_output,
          "--output belongs to a model of pairs; a decoder-only model reads --input");
    e.target = model.text.target().encode_text(o.input, &unknown);
    check(!e.target.empty(), "--input is empty, expected a text to look into");
    return e;
  }
  e.source = model.text.source().encode(o.input, 0, &unknown);
  check(!e.source.empty(), "--input is empty, expected a text to look into");
  if (o.has_output) {
    e.target = model.text.target().encode(o.output, 0, &unknown);
    return e;
  }
  DecodeOptions decode;
  decode.beam = o.beam;
  Decoder decoder(model, decode, pool);
  std::vector<int32_t> source = e.source;
  source.push_back(model.text.source().ids().eos);
  const Sentence sentence = decoder.sentence(std::move(source), {});
  e.target = decoder.decode({&sentence, 1}).front().front().ids;
  return e;
}

bool wanted(const AttentionMap& map, const Options& o) {
  const std::string_view kind = kKindNames[static_cast<size_t>(map.kind)];
  return (o.kinds.empty() || std::ranges::find(o.kinds, kind) != o.kinds.end()) &&
         (o.layer < 0 || static_cast<size_t>(o.layer) == map.layer + 1) &&
         (o.head < 0 || static_cast<size_t>(o.head) == map.head + 1);
}

plot::Figure figure_of(const AttentionMaps& maps, const Options& o, const std::string& title) {
  plot::Figure figure;
  figure.title = title;
  figure.caption = maps.sink
                       ? "How a query's attention is shared among the keys: each row sums to 1 "
                         "less what the head's sink took."
                       : "Each row sums to 1: how a query's attention is shared among the keys.";
  size_t heads = 1;
  for (const AttentionMap& map : maps.maps) {
    if (!wanted(map, o)) continue;
    heads = std::max(heads, o.head < 0 ? map.head + 1 : 1);
    figure.panels.push_back(
        plot::HeatMap{.title = concat(kTitles[static_cast<size_t>(map.kind)], ", layer ",
                                      map.layer + 1, ", head ", map.head + 1),
                      .row_axis = "query",
                      .column_axis = "key",
                      .rows = maps.queries(map.kind),
                      .columns = maps.keys(map.kind),
                      .values = map.weights,
                      .value_label = "attention weight",
                      .range = plot::Range{0, 1}});
  }
  check(!figure.panels.empty(), "no attention of this model is --kind, --layer and --head at once");
  figure.columns = std::min<size_t>(heads, 4);
  return figure;
}

Json json_of(const AttentionMaps& maps, const Options& o, const Json& text) {
  Json list = Json::array();
  for (const AttentionMap& map : maps.maps) {
    if (!wanted(map, o)) continue;
    const size_t keys = maps.keys(map.kind).size();
    Json rows = Json::array();
    for (size_t q = 0; q < maps.queries(map.kind).size(); ++q) {
      const auto row = map.weights.begin() + static_cast<ptrdiff_t>(q * keys);
      rows.push_back(std::vector<double>(row, row + static_cast<ptrdiff_t>(keys)));
    }
    list.push_back({{"kind", kKindNames[static_cast<size_t>(map.kind)]},
                    {"layer", map.layer + 1},
                    {"head", map.head + 1},
                    {"weights", std::move(rows)}});
  }
  Json object = text;
  object["source_tokens"] = maps.source;
  object["target_tokens"] = maps.target;
  object["attention"] = std::move(list);
  return object;
}

void write_out(const fs::path& out, const plot::Figure& figure, const Json& json) {
  const std::string extension = out.extension().string();
  if (extension == ".svg") return write_file(out, plot::to_svg(figure));
  if (extension == ".html") return write_file(out, plot::to_html(figure));
  write_json(out, json);
}

}  // namespace

int explain_main(const Arguments& arguments) {
  CommandLine app("explain",
                  "Draws what every attention head of a model looked at: in the terminal, or with "
                  "--out as .svg, .html or .json.",
                  "rapt explain --model g2p --input \"transformer\" --out attention.svg");
  Options o;
  app.add_option("--model", o.model, "model directory")->required();
  app.add_option("--input", o.input, "the text to look into")->required();
  const auto* output = app.add_option("--output", o.output,
                                      "the output to look at; without it what the model decodes");
  app.add_option("--out", o.out, "file to write: .svg, .html or .json");
  app.add_option("--kind", o.kinds, "encoder, decoder, cross; several with commas; all by default")
      ->delimiter(',')
      ->check(CLI::IsMember({"encoder", "decoder", "cross"}));
  app.add_option("--layer", o.layer, "one layer, from 1; all by default")
      ->check(in_range({1, 1024}));
  app.add_option("--head", o.head, "one head, from 1; all by default")->check(in_range({1, 1024}));
  app.add_option("--beam", o.beam, "of the search for the output")
      ->check(in_range({1, 1024}))
      ->capture_default_str();
  app.add_threads(o.threads);
  if (!app.parse_arguments(arguments)) return kDone;
  o.has_output = output->count() != 0;
  const std::string extension = fs::path(o.out).extension().string();
  check(o.out.empty() || extension == ".svg" || extension == ".html" || extension == ".json",
        "--out is '", o.out, "', expected a file that ends in .svg, .html or .json");

  const Model model = load_model(o.model);
  Pool pool(o.threads);
  UnknownSymbols unknown;
  const Example example = example_of(model, o, pool, unknown);
  const std::string warning = unknown.warning("--input and --output");
  check(unknown.count() < example.source.size() + example.target.size(), warning,
        "; the model knows none of them, expected text such as it was trained on");
  if (!warning.empty()) std::cerr << "rapt: " << warning << '\n';
  const AttentionMaps maps = attention_maps(model, example, pool);
  const std::string answer = model.text.target().decode(example.target);
  const bool pairs = model.text.has_source();
  const plot::Figure figure = figure_of(maps, o, pairs ? concat(o.input, " → ", answer) : o.input);
  const Json text = pairs ? Json{{"input", o.input}, {"output", answer}} : Json{{"input", o.input}};
  if (o.out.empty()) {
    const bool terminal = stdout_is_terminal();
    print(plot::to_text(figure, {.width = terminal ? terminal_width() : 100, .colour = terminal}));
  } else {
    write_out(o.out, figure, json_of(maps, o, text));
  }
  return kDone;
}

}  // namespace rapt::app

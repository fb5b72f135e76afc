#include "apps/rapt/train_options.h"

#include <map>
#include <optional>

#include "rapt/train/run_identity.h"

namespace rapt::app {
namespace {

constexpr const char* kExample =
    "rapt train --model g2p --train train.tsv --valid dev.tsv --tokenizer chars \\\n"
    "    --target-tokenizer words --d-model 256 --layers 3 --heads 4 --d-ff 1024 --dropout 0.1 \\\n"
    "    --batch-tokens 4000 --epochs 10 --metric per\n"
    "  rapt train --model lm --architecture decoder --text book.txt --valid more.txt --context 64\n"
    "The same command goes on with a run that was stopped.";

// Puts the options that `add` makes under a heading of the help.
template <class F>
void group(CLI::App& app, const std::string& name, const F& add) {
  const size_t before = app.get_options().size();
  add();
  const std::vector<CLI::Option*> options = app.get_options();
  for (size_t i = before; i < options.size(); ++i) options[i]->group(name);
}

bool given(const CLI::App& app, std::string_view name) {
  return app.get_option(flag_of(name))->count() > 0;
}

// What one side was not told is what both were told.
void complete_side(const CLI::App& app, const std::string& prefix, const SideOptions& both,
                   SideOptions& side) {
  std::map<std::string_view, const void*> common;
  SideOptions::fields(
      both, [&](std::string_view name, const auto& value, auto&&...) { common[name] = &value; });
  SideOptions::fields(side, [&](std::string_view name, auto& value, auto&&...) {
    using T = std::remove_reference_t<decltype(value)>;
    if (!given(app, prefix + std::string(name))) value = *static_cast<const T*>(common.at(name));
  });
}

// An option that sets several fields, but those that were given themselves.
template <class T>
void spread(const CLI::App& app, const std::optional<T>& value,
            std::initializer_list<std::pair<std::string_view, T*>> fields) {
  for (const auto& [name, field] : fields) {
    if (value && !given(app, name)) *field = *value;
  }
}

void check_data(const TrainArguments& a) {
  const bool pairs = a.config.has_encoder();
  check(pairs || a.train.empty(), "--train gives pairs, which --architecture decoder cannot take: ",
        "give one text by --text");
  check(!pairs || a.text.empty(), "--text needs --architecture decoder; an encoder-decoder takes ",
        "pairs by --train");
  check(!pairs || !a.train.empty(),
        "--train is missing: one TSV of source and target, or two files");
  check(pairs || !a.text.empty(), "--text is missing: the text to train on");
  check(pairs || a.valid.size() <= 1, "--valid takes one text with --architecture decoder");
  check(pairs || a.context <= a.config.max_positions, "--context is ", a.context,
        ", but --max-positions is ", a.config.max_positions);
  check(a.training.max_length <= a.config.max_positions, "--max-length is ", a.training.max_length,
        ", but --max-positions is ", a.config.max_positions);
  check(!a.valid.empty() || a.training.metric.empty(), "--metric ", a.training.metric,
        " chooses by validation data: give --valid");
  check(pairs || a.training.metric.empty() ||
            !metrics::find_metric(a.training.metric).needs_decoding(),
        "--metric ", a.training.metric,
        " compares outputs with references, and --text has none: ", "loss or perplexity");
  check(a.config.tie != Tie::kAll || a.text_options.joint, "--tie all needs --vocabulary joint");
}

}  // namespace

Json TrainArguments::told() const {
  Json object = Json::object();
  ModelConfig::fields(config, to_object(object));
  object["init_weights"] = option_json(init.init_weights);
  object["init_std"] = option_json(init.init_std);
  const auto side = [&](const std::string& prefix, const SideOptions& options) {
    SideOptions::fields(options, [&](std::string_view name, const auto& value, auto&&...) {
      object[prefix + std::string(name)] = option_json(value);
    });
  };
  if (config.has_encoder()) {
    side("source_", text_options.source);
    side("target_", text_options.target);
    object["vocabulary"] = text_options.joint ? "joint" : "separate";
  } else {
    side("", text_options.target);
    object["context"] = context;
  }
  TrainOptions::fields_of_identity(training, to_object(object));
  if (training.schedule_needs_length()) {
    object["steps"] = training.steps;
    object["epochs"] = training.last_epoch();
  }
  return object;
}

bool parse_train(const Arguments& arguments, TrainArguments& a) {
  CommandLine app(
      "train",
      "Trains a Transformer on pairs of lines, or on one text, and writes it to a model "
      "directory.",
      kExample);
  std::optional<size_t> layers;
  std::optional<float> dropout;
  SideOptions both;
  VocabularyKind vocabulary = VocabularyKind::kSeparate;

  app.add_option("--model", a.model, "model directory: made, or gone on with")->required();
  group(app, "Data", [&] {
    app.add_option("--train", a.train,
                   "pairs: a TSV of source and target, or two files; may be .gz")
        ->expected(1, 2);
    app.add_option("--valid", a.valid, "the same, to validate on")->expected(1, 2);
    app.add_option("--text", a.text, "one text, newlines included (--architecture decoder)");
    app.add_option("--context", a.context, "tokens of a window of --text")
        ->check(in_range({1, 1 << 24}))
        ->capture_default_str();
  });
  group(app, "Text", [&] {
    add_fields(app, both);
    add_choice(app, "--vocabulary", vocabulary, "of source and target: separate, or joint");
  });
  const std::string one_side = "Text of one side (as for both unless given)";
  group(app, one_side, [&] {
    add_fields(app, a.text_options.source, {}, "source_");
    add_fields(app, a.text_options.target, {}, "target_");
  });
  for (CLI::Option* option : app.get_options()) {
    if (option->get_group() == one_side) option->default_str("");
  }
  group(app, "Model", [&] {
    app.add_option("--layers", layers, "sets --encoder-layers and --decoder-layers")
        ->check(in_range({1, 1024}));
    app.add_option("--dropout", dropout, "sets the four --dropout-…")->check(in_range({0, 0.99}));
    add_fields(app, a.config);
    add_choice(app, "--init-weights", a.init.init_weights, "how new weights are drawn");
    app.add_option("--init-std", a.init.init_std, "of --init-weights normal")
        ->check(in_range({0, 100}))
        ->capture_default_str();
  });
  group(app, "Training", [&] { add_fields(app, a.training); });
  app.add_threads(a.threads);
  app.add_flag("--strict", a.strict, "stop with 1 when a symbol is not in the vocabulary");
  app.add_flag(
      "--prepare", a.prepare,
      "train nothing: write the untrained model, and batches.jsonl with the items of every "
      "update");
  if (!app.parse_arguments(arguments)) return false;

  ModelConfig& c = a.config;
  spread(app, layers,
         {{"encoder_layers", &c.encoder_layers}, {"decoder_layers", &c.decoder_layers}});
  spread(app, dropout,
         {{"dropout_embedding", &c.dropout_embedding},
          {"dropout_attention", &c.dropout_attention},
          {"dropout_activation", &c.dropout_activation},
          {"dropout_residual", &c.dropout_residual}});
  // Left out, these follow from others; a size of 0 that is asked for is a mistake.
  for (const auto& [name, size] :
       {std::pair("d_k", c.d_k), {"d_v", c.d_v}, {"d_ff", c.d_ff}, {"kv_heads", c.kv_heads}}) {
    check(size > 0 || !given(app, name), name,
          " is 0, expected at least 1; leave it out for its default");
  }
  c.d_ff = c.inner_width();  // config.json holds the number
  if (!c.has_encoder()) c.encoder_layers = 0;
  if (!c.has_encoder() && app.get_option("--max-positions")->count() == 0) {
    c.max_positions = a.context;  // positions that training never meets mean nothing
  }
  const bool has_norms = c.residual != Residual::kNone && c.residual != Residual::kPlain;
  if (!has_norms && !given(app, "final_norm")) c.final_norm = false;
  complete_side(app, "source_", both, a.text_options.source);
  complete_side(app, "target_", both, a.text_options.target);
  a.text_options.joint = vocabulary == VocabularyKind::kJoint;
  a.init.seed = a.training.seed;
  c.validate();
  a.training.validate();
  check_data(a);
  return true;
}

}  // namespace rapt::app

// rapt decode: lines in, lines out, in order. What has been read is answered as soon as no further
// input waits, so a program that writes a line and reads its answer never hangs.
#include <iostream>
#include <optional>

#include "apps/rapt/answer_lines.h"
#include "apps/rapt/command_line.h"
#include "apps/rapt/exit_codes.h"
#include "apps/rapt/output.h"
#include "rapt/base/utf8.h"
#include "rapt/decode/decoder.h"

namespace rapt {
namespace app {

enum class TooLong {
  kSkip,      // an empty output line, a message, exit code 1 at the end
  kTruncate,  // its first tokens are decoded
  kStop,      // the program ends with 1
};

}  // namespace app

template <>
inline constexpr auto kNames<app::TooLong> = names<app::TooLong>({{app::TooLong::kSkip, "skip"},
                                                                  {app::TooLong::kTruncate,
                                                                   "truncate"},
                                                                  {app::TooLong::kStop, "stop"}});

namespace app {
namespace {

constexpr size_t kNamedLines = 3;  // in messages

struct Options {
  std::string model, input = "-", prefix, prompt;
  TooLong too_long = TooLong::kSkip;
  bool json = false, strict = false, table = false, has_prompt = false, has_limit = false;
  size_t threads = 1;
  DecodeOptions decode;
};

// Line numbers for one message: how many, and the first of them.
struct LineList {
  uint64_t count = 0;
  std::string first;
  void add(uint64_t line) {
    if (count++ < kNamedLines) first += (first.empty() ? "" : ", ") + std::to_string(line);
  }
};

class DecodeRun {
 public:
  explicit DecodeRun(const Options& options)
      : options_(options),
        model_(load_model(options.model)),
        pool_(options.threads),
        decoder_(model_, options.decode, pool_),
        target_(model_.text.target()) {
    model_.transformer.pack();
    const bool pairs = model_.text.has_source();
    check(pairs || options_.prefix.empty(), "--prefix is for encoder-decoder models; this one is ",
          "decoder-only: give the text to go on with by --prompt");
    check(!pairs || !options_.has_prompt, "--prompt is for decoder-only models; this one is an ",
          "encoder-decoder: it reads lines from stdin or --input, and --prefix forces a start");
    check_option_text("--prefix", options_.prefix);
    check_option_text("--prompt", options_.prompt);
    UnknownSymbols unknown;
    prefix_ = target_.encode(options_.prefix, 0, &unknown);
    check(unknown.count() == 0 || options_.decode.allow_unk, "--prefix is '", options_.prefix,
          "', which holds '", unknown.count() ? unknown.first()[0].symbol : "",
          "'; the model does not know it, and --allow-unk is not given");
  }

  int run() {
    if (options_.has_prompt) {
      answer_prompt();
    } else {
      answer_lines();
    }
    return report();
  }

 private:
  struct Item {
    uint64_t line = 0;
    std::string text;
    std::optional<size_t> sentence;  // nothing: an empty answer
  };

  void answer_prompt() {
    std::vector<Sentence> sentences{
        decoder_.sentence({}, target_.encode_text(options_.prompt, &unknown_))};
    print_results({{1, options_.prompt, 0}}, decoder_.decode(sentences), true);
  }

  void answer_lines() {
    LineReader reader(options_.input);
    if (options_.input == "-" && stdin_is_terminal()) {
      std::cerr << "Type a line and press Enter for its answer; Ctrl-D ends.\n";
    }
    std::vector<Item> items;
    std::vector<Sentence> sentences;
    const auto take = [&](const std::string& line) {
      items.push_back(item(reader, line, sentences));
    };
    const auto answer = [&] {
      print_results(items, decoder_.decode(sentences), false);
      items.clear();
      sentences.clear();
    };
    app::answer_lines(reader, take, answer);
  }

  Item item(const LineReader& reader, const std::string& line, std::vector<Sentence>& sentences) {
    Item result{reader.line(), line, {}};
    check_utf8(line, reader.name(), reader.line());
    const bool pairs = model_.text.has_source();
    std::vector<int32_t> ids = pairs ? model_.text.source().encode(line, reader.line(), &unknown_)
                                     : target_.encode(line, reader.line(), &unknown_);
    if (pairs && ids.empty()) return result;
    // A decoder-only model goes on by a window: no prompt is too long for it.
    const size_t most = model_.transformer.config().max_positions - 1;
    if (reader.too_long() || (pairs && ids.size() > most)) {
      const std::string message =
          concat(reader.name(), ": line ", reader.line(), " has ", ids.size(),
                 " tokens, the model takes ", most, "; --too-long truncate decodes its start");
      check<IoError>(options_.too_long != TooLong::kStop, message);
      if (options_.too_long == TooLong::kSkip) {
        std::cerr << "rapt: " << message << '\n';
        ++too_long_;
        return result;
      }
      std::cerr << "rapt: " << reader.name() << ": line " << reader.line() << " has " << ids.size()
                << " tokens, its first " << most << " are decoded\n";
      ids.resize(std::min(ids.size(), most));
    }
    result.sentence = sentences.size();
    if (pairs) {
      ids.push_back(model_.text.source().ids().eos);
      sentences.push_back(decoder_.sentence(std::move(ids), prefix_));
    } else {
      sentences.push_back(decoder_.sentence({}, std::move(ids)));
    }
    return result;
  }

  void print_results(const std::vector<Item>& items,
                     const std::vector<std::vector<Hypothesis>>& results, bool raw) {
    static const std::vector<Hypothesis> kNothing;
    for (const Item& item : items) {
      const auto& found = item.sentence ? results[*item.sentence] : kNothing;
      if (!found.empty() && !found.front().complete) cut_.add(item.line);
      if (options_.json) {
        print_json(json(item, found));
      } else if (options_.table) {
        print_table(item, found);
      } else {
        print_line(found.empty() ? "" : shown(text_of(item, found.front()), raw));
      }
    }
  }

  // The output with what it was made to start with.
  std::string text_of(const Item& item, const Hypothesis& h) const {
    std::vector<int32_t> ids = model_.text.has_source() ? prefix_ : std::vector<int32_t>();
    ids.insert(ids.end(), h.ids.begin(), h.ids.end());
    return (model_.text.has_source() ? "" : item.text) + target_.decode(ids);
  }
  // One line for one line: a newline that a decoder-only model wrote is shown as \n.
  static std::string shown(std::string text, bool raw) {
    for (size_t at = 0; !raw && (at = text.find('\n', at)) != std::string::npos; at += 2) {
      text.replace(at, 1, "\\n");
    }
    return text;
  }

  void print_table(const Item& item, const std::vector<Hypothesis>& found) {
    for (size_t rank = 0; rank < found.size(); ++rank) {
      const Hypothesis& h = found[rank];
      print_line(concat(item.line, '\t', rank + 1, '\t', shortest(h.score), '\t',
                        shortest(h.log_probability), '\t', shown(text_of(item, h), false)));
    }
    if (found.empty()) print_line(concat(item.line, "\t1\t0\t0\t"));
  }

  Json json(const Item& item, const std::vector<Hypothesis>& found) const {
    Json hypotheses = Json::array();
    for (const Hypothesis& h : found) {
      Json tokens = Json::array();
      for (const int32_t id : h.ids) tokens.push_back(target_.vocabulary().symbol(id));
      hypotheses.push_back({{"text", text_of(item, h)},
                            {"score", h.score},
                            {"log_probability", h.log_probability},
                            {"complete", h.complete},
                            {"tokens", std::move(tokens)}});
    }
    return {{"line", item.line}, {"input", item.text}, {"hypotheses", std::move(hypotheses)}};
  }

  int report() {
    const std::string where = options_.input == "-" ? "stdin" : options_.input;
    const std::string warning = unknown_.warning(options_.has_prompt ? "--prompt" : where);
    if (!warning.empty()) std::cerr << "rapt: " << warning << '\n';
    if (cut_.count != 0 && (model_.text.has_source() || !options_.has_limit)) {
      std::cerr << "rapt: " << cut_.count << " output" << plural(cut_.count)
                << " reached the maximum length and ended there (line" << plural(cut_.count) << ' '
                << cut_.first << (cut_.count > kNamedLines ? ", …" : "")
                << "); --max-length sets it\n";
    }
    return too_long_ != 0 || (options_.strict && unknown_.count() != 0) ? kFailed : kDone;
  }

  const Options& options_;
  Model model_;
  Pool pool_;
  Decoder decoder_;
  const TextSide& target_;
  std::vector<int32_t> prefix_;
  UnknownSymbols unknown_;
  LineList cut_;
  uint64_t too_long_ = 0;
};

}  // namespace

int decode_main(const Arguments& arguments) {
  CommandLine app("decode",
                  "Turns each line of stdin into a line of stdout; a decoder-only model goes on "
                  "with each line, or with --prompt.",
                  "rapt decode --model g2p --beam 5 --nbest 3 < words.txt\n  "
                  "rapt decode --model lm --sample --temperature 0.8 --prompt \"ROMEO:\"");
  Options o;
  app.add_option("--model", o.model, "model directory")->required();
  app.add_option("--input", o.input, "file to read; - is stdin")->capture_default_str();
  app.add_option("--prefix", o.prefix, "text that every output must start with");
  const auto* prompt = app.add_option("--prompt", o.prompt, "text to go on with (decoder-only)");
  add_fields(app, o.decode);
  app.add_option_function<std::string>(
         "--too-long",
         [&](const std::string& s) { o.too_long = value_of<TooLong>(s, "--too-long"); },
         "a line beyond the model's length: skip it, truncate it, or stop")
      ->check(CLI::IsMember(enum_names<TooLong>()))
      ->default_str("skip");
  app.add_flag("--json", o.json, "one JSON object a line, with tokens and scores");
  app.add_flag("--strict", o.strict, "exit with 1 when a symbol was not in the vocabulary");
  app.add_threads(o.threads);
  if (!app.parse_arguments(arguments)) return kDone;
  o.has_prompt = prompt->count() != 0;
  o.table = app.get_option("--nbest")->count() != 0;
  o.has_limit = o.decode.max_length != 0;
  for (const char* flag : {"--temperature", "--top-k", "--top-p", "--min-p"}) {
    check(o.decode.sample || app.get_option(flag)->count() == 0, flag, " needs --sample");
  }
  check(!o.has_prompt || app.get_option("--input")->count() == 0,
        "--prompt and --input: choose one of the two");
  o.decode.validate();
  return DecodeRun(o).run();
}

}  // namespace app
}  // namespace rapt

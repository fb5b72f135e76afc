// Decoding with random weights: what tools/peers/ct2_decode.py does, by rapt. 64 sentences of 10 to
// 18 random words (mean 14) give exactly 20 target tokens each, so that the work does not depend on
// the weights. Batch 1 takes the first 18, whose mean is 14 too.
#include <algorithm>

#include "apps/rapt/bench/bench.h"
#include "apps/rapt/bench/measure.h"
#include "apps/rapt/bench/model_files.h"
#include "apps/rapt/bench/profile.h"
#include "rapt/base/random.h"
#include "rapt/decode/decoder.h"

namespace rapt::app::bench {
namespace {

constexpr size_t kSentences = 64, kAlone = 18, kLength = 20;

std::vector<Sentence> random_sentences(const TextSide& source) {
  const uint64_t key = op_key(1, Stream::kSample, site_of("bench decode"), 0);
  const size_t words = source.size() - kSpecialSymbols.size();
  std::vector<Sentence> sentences(kSentences);
  for (size_t i = 0; i < kSentences; ++i) {
    for (size_t n = 0; n < 10 + i % 9; ++n) {
      const auto word = static_cast<size_t>(uniform(key, i * 64 + n) * static_cast<double>(words));
      sentences[i].source.push_back(static_cast<int32_t>(kSpecialSymbols.size() + word));
    }
    sentences[i].source.push_back(source.ids().eos);
  }
  return sentences;
}

DecodeOptions decode_options(size_t beam) {
  DecodeOptions o;
  o.beam = beam;
  o.min_length = o.max_length = kLength;
  return o;
}

void decode_all(const Decoder& decoder, std::span<const Sentence> sentences, size_t batch) {
  for (size_t i = 0; i < sentences.size(); i += batch) {
    const auto part = sentences.subspan(i, std::min(batch, sentences.size() - i));
    for (const auto& found : decoder.decode(part)) {
      check_result(found.at(0).ids.size() == kLength, "decode: length of an output");
    }
  }
}

// A sentence has the same result alone and in a batch, bit for bit.
void check_batches(const Decoder& decoder, std::span<const Sentence> sentences) {
  const auto together = decoder.decode(sentences.first(8));
  for (const size_t i : {0, 7}) {
    const auto alone = decoder.decode(sentences.subspan(i, 1));
    check_result(alone[0][0].ids == together[i][0].ids &&
                     alone[0][0].log_probability == together[i][0].log_probability,
                 "decode: a sentence alone and in a batch");
  }
}

// By operation, of one batch on one stream of work.
void profile_decoding(const Model& model, std::span<const Sentence> sentences, size_t beam,
                      size_t rounds, const std::string& name, Pool& pool, const Machine& machine) {
  const DecodeOptions options = decode_options(beam);
  const VocabularyFilter filter(model.text.target(), options);
  Context ctx(Mode::kInference, pool);
  Profile profile(model.transformer.config(), model.transformer.target_vocabulary(),
                  pool.threads());
  profile.watch(ctx);
  for (size_t round = 0; round < rounds; ++round) {
    profile.begin_step();
    beam_search(ctx, model.transformer, filter, sentences, options);
    profile.end_step("search, last step");
  }
  profile.emit(name, machine);
}

}  // namespace

void run_decode(const Options& options) {
  const TemporaryDirectory directory;
  write_random_model(directory.path(), options.size, options.vocabulary);
  Pool pool(options.threads);
  Machine machine(pool);
  forget_peak_rss();

  const double before = rss_mb();
  const Stopwatch loading;
  Model model = load_model(directory.path());
  model.transformer.pack();
  const double load_s = loading.seconds();
  Json shape{{"size", options.size}, {"vocabulary", options.vocabulary}};
  shape["target_length"] = kLength;
  emit({{"peer", "rapt"},
        {"case", "load"},
        {"threads", options.threads},
        {"dtype", "float32"},
        {"shape", shape},
        {"load_s", load_s},
        {"model_mb", directory_mb(directory.path())},
        {"model_rss_mb", rss_mb() - before},
        {"version", RAPT_VERSION}});

  const std::vector<Sentence> sentences = random_sentences(model.text.source());
  std::vector<std::unique_ptr<Decoder>> decoders;
  for (const size_t beam : options.beams) {
    decoders.push_back(std::make_unique<Decoder>(model, decode_options(beam), pool));
    check_batches(*decoders.back(), sentences);
  }
  MemoryPool::process().trim();  // the check is no part of what is measured
  forget_peak_rss();
  for (const size_t batch : options.batches) {
    const auto some = std::span(sentences).first(batch == 1 ? kAlone : kSentences);
    shape["sentences"] = some.size();
    std::vector<Case> cases;
    for (size_t i = 0; i < options.beams.size(); ++i) {
      cases.push_back({.name = concat("decode_beam", options.beams[i], "_batch", batch),
                       .run = [&, i] { decode_all(*decoders[i], some, batch); },
                       .shape = shape});
    }
    const std::vector<Timing> timings = interleave(cases, options.rounds_or(7));
    for (size_t i = 0; i < cases.size(); ++i) {
      const auto n = static_cast<double>(some.size());
      cases[i].more = {{"ms_per_sentence", timings[i].ms / n},
                       {"tokens_per_s", 1e3 * n * kLength / timings[i].ms},
                       {"rss_mb", rss_mb()},
                       {"peak_rss_mb", peak_rss_mb()}};
      emit(line_of(cases[i], timings[i], options.threads, machine));
    }
  }
  if (options.profile) {
    for (const size_t batch : options.batches) {
      for (const size_t beam : options.beams) {
        profile_decoding(model, std::span(sentences).first(std::min(batch, kSentences)), beam,
                         options.rounds_or(7), concat("profile_beam", beam, "_batch", batch), pool,
                         machine);
      }
    }
  }
  machine.emit();
}

}  // namespace rapt::app::bench

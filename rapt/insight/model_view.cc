#include "rapt/insight/model_view.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "rapt/base/scalar_math.h"
#include "rapt/insight/draws.h"

namespace rapt::insight {
namespace {

using Kind = AttentionMap::Kind;

// Adds up what HeadView holds the means of.
class HeadSums {
 public:
  explicit HeadSums(double sharpening) : sharpening_(sharpening) {}

  void add(std::span<const float> weights, size_t seen, bool sees_first) {
    if (seen < 2) return;
    double mean = 0, square = 0, entropy = 0, mass = 0, most = 0, n = 0;
    for (const float weight : weights) {
      if (weight == 0) continue;  // hidden, or underflowed
      const auto w = static_cast<double>(weight);
      const double score = scalar::log(w);
      n += 1;
      mean += score;
      square += score * score;
      mass += w;
      entropy -= w * score;
      most = std::max(most, w);
    }
    if (mass == 0) return;  // all on the sink
    const double underflowed = static_cast<double>(seen) - n;
    const double least = scalar::log(std::numeric_limits<float>::min());
    n += underflowed;
    mean = (mean + underflowed * least) / n;
    square += underflowed * least * least;
    double unscaled = 0;  // sum of (w / most)^sqrt(d_k)
    for (const float weight : weights) {
      if (weight != 0) {
        unscaled += scalar::exp(sharpening_ * scalar::log(static_cast<double>(weight) / most));
      }
    }
    queries_ += 1;
    sums_.variance += square / n - mean * mean;
    // Of the weights without the sink: p = w / mass.
    sums_.effective += scalar::exp(entropy / mass + scalar::log(mass)) / static_cast<double>(seen);
    sums_.saturated += most > kSaturated ? 1 : 0;
    sums_.unscaled += 1 / unscaled > kSaturated ? 1 : 0;
    sums_.sink += std::max(0.0, 1 - mass);
    if (seen >= kFirstKeys && sees_first) {
      first_queries_ += 1;
      sums_.first += static_cast<double>(weights[0]);
      sums_.even += 1 / static_cast<double>(seen);
    }
  }

  HeadView mean() const {
    HeadView v = sums_;
    for (double* sum : {&v.variance, &v.effective, &v.saturated, &v.unscaled, &v.sink}) {
      *sum = queries_ == 0 ? NAN : *sum / queries_;
    }
    for (double* sum : {&v.first, &v.even}) {
      *sum = first_queries_ == 0 ? NAN : *sum / first_queries_;
    }
    return v;
  }

 private:
  double sharpening_;
  double queries_ = 0, first_queries_ = 0;
  HeadView sums_;
};

double squares(const Tensor& x) { return dot(x.host(), x.host()); }

// Sums of one sub-layer over sentences.
struct SubLayerSums {
  std::string name;
  double elements = 0, rows = 0, sentences = 0;
  double size = 0, largest = 0, branch = 0;
  double gradient = 0, through_branch = 0, through_residual = 0;
  Tensor x, branch_gradient;  // until its partner comes

  void input(const Tensor& value) {
    x = value;
    sentences += 1;
    elements += static_cast<double>(value.size());
    size += squares(value);
    for (const float v : value.host())
      largest = std::max(largest, std::abs(static_cast<double>(v)));
  }
  void output(const Tensor& fx) {
    for (size_t r = 0; r < fx.rows(); ++r, rows += 1) {
      const auto in = x.matrix().row(r), out = fx.matrix().row(r);
      const double length = std::sqrt(dot(in, in));
      branch += length > 0 ? std::sqrt(dot(out, out)) / length : 0;
    }
    x = {};
  }
  void input_gradient(const Tensor& dx) {
    gradient += squares(dx);
    double past = 0;
    for (size_t i = 0; i < dx.size(); ++i) {
      const double d = static_cast<double>(dx.host()[i]) - branch_gradient.host()[i];
      past += d * d;
    }
    through_residual += past;
    through_branch += squares(branch_gradient);
    branch_gradient = {};
  }
  SubLayerSummary summary() const {
    const auto root = [&](double sum) { return std::sqrt(sum / sentences); };
    return {name,
            std::sqrt(size / elements),
            largest,
            branch / rows,
            root(gradient),
            root(through_branch),
            root(through_residual)};
  }
};

class Observer {
 public:
  explicit Observer(const ModelConfig& config)
      : config_(config),
        sharpening_(std::sqrt(
            static_cast<double>(config.d_k == 0 ? config.d_model / config.heads : config.d_k))) {}

  void begin(const Shard& shard) {
    source_ = shard.source.rows();
    target_ = shard.target.rows();
  }

  void operator()(std::string_view name, const Tensor& value) {
    if (const auto place = attention_place(name)) return attention(*place, value);
    const auto take = [&](std::string_view what, auto f) {
      if (name.ends_with(what)) f(sub_layer(name.substr(0, name.size() - what.size())));
    };
    take(".input", [&](SubLayerSums& s) { s.input(value); });
    take(".output", [&](SubLayerSums& s) { s.output(value); });
    take(".branch.gradient", [&](SubLayerSums& s) { s.branch_gradient = value.clone(); });
    take(".input.gradient", [&](SubLayerSums& s) { s.input_gradient(value); });
  }

  void finish(ModelView& view) const {
    for (const auto& [place, heads] : heads_) {
      view.attention.push_back({place.first, place.second, {}});
      for (const HeadSums& head : heads) view.attention.back().heads.push_back(head.mean());
    }
    for (const SubLayerSums& s : sub_layers_) view.sub_layers.push_back(s.summary());
  }

 private:
  void attention(const AttentionPlace& place, const Tensor& weights) {
    std::vector<HeadSums>& heads = heads_[{place.kind, place.layer}];
    heads.resize(weights.rows(), HeadSums(sharpening_));
    const size_t keys = place.kind == Kind::kDecoder ? target_ : source_;
    const size_t queries = weights.cols() / keys;
    for (size_t h = 0; h < heads.size(); ++h) {
      for (size_t i = 0; i < queries; ++i) {
        const SeenKeys seen = keys_seen(place.kind, config_.window, i, keys);
        heads[h].add(weights.matrix().row(h).subspan(i * keys, keys), seen.count, seen.first == 0);
      }
    }
  }
  SubLayerSums& sub_layer(std::string_view name) {
    const auto at = std::ranges::find(sub_layers_, name, &SubLayerSums::name);
    if (at != sub_layers_.end()) return *at;
    sub_layers_.push_back({.name = std::string(name)});
    return sub_layers_.back();
  }

  const ModelConfig& config_;
  double sharpening_;
  size_t source_ = 0, target_ = 0;  // rows of the sentence
  std::map<std::pair<Kind, size_t>, std::vector<HeadSums>> heads_;
  std::vector<SubLayerSums> sub_layers_;
};

}  // namespace

bool fits(const Model& model, const Example& example) {
  const size_t most = model.transformer.config().max_positions;
  return example.source.size() < most && example.target.size() < most;
}

ModelView view_model(const Model& model, std::span<const Example> examples, Pool& pool) {
  check(!examples.empty(), "there is no sentence to look at");
  const ModelConfig& config = model.transformer.config();
  ModelView view;
  view.has_sink = config.attention_sink;
  view.scaled = config.score == ScoreKind::kScaledDot && config.positions != Positions::kAlibi;
  Observer observer(config);
  Context ctx(Mode::kEvaluation, pool);
  ctx.observe([&](std::string_view name, const Tensor& value) { observer(name, value); });
  for (const Example& example : examples) {
    check(fits(model, example), "line ", example.id + 1, " has ", example.source.size() + 1,
          " and ", example.target.size() + 1, " tokens, the model takes ", config.max_positions);
    const Shard shard = make_shard({&example, 1}, model.text);
    ctx.clear();
    observer.begin(shard);
    const Transformer::Loss loss = model.transformer.loss(ctx, shard, {});
    view.loss += static_cast<double>(loss.nll.host()[0]);
    view.tokens += shard.target_out.size();
    add_experts(view.experts, ctx.side_losses(), 1 / static_cast<double>(examples.size()));
    ctx.backward(loss.objective, 1 / static_cast<float>(shard.target_out.size()));
  }
  view.sentences = examples.size();
  view.loss /= static_cast<double>(view.tokens);
  observer.finish(view);
  return view;
}

}  // namespace rapt::insight

// What the heads of a model looked at, over several texts: of a model on disk, or of a small one.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "rapt/base/options.h"
#include "rapt/decode/attention_maps.h"
#include "rapt/insight/training.h"

namespace rapt::insight {

// The user's own model and texts; without them a claim trains small models.
struct TextOptions {
  std::string model, input, data;
  size_t lines = 100;

  bool given() const { return !model.empty(); }
  // Throws InvalidArgument: texts without a model, a model without texts, or with two.
  void validate() const;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit("model", self.model, "directory of a trained model; without it small ones are trained");
    visit("input", self.input, "the text that it reads; for pairs also input, a tab, output");
    visit("data", self.data, "a file of such texts, one a line");
    visit("lines", self.lines, Range{1, 100000}, "of the file that are read, from the first");
  }
};

// Of each text; an output that is not given is what the model decodes. Throws InvalidArgument for a
// text that is empty or holds no symbol that the model knows.
std::vector<AttentionMaps> attention_of(const TextOptions& options, Pool& pool);
// Of each sentence of the batch.
std::vector<AttentionMaps> attention_of(const TaskModel& model, const TaskBatch& batch, Pool& pool);

// Where a head's weight lies, seen from a query; of a self-attention that hides what follows, no
// key after the query counts. The places overlap: the first key is the previous one of the second
// query.
enum Place : size_t { kFirst, kPrevious, kSame, kNext, kLast, kMirrored, kPlaces };

struct HeadLook {
  AttentionMap::Kind kind;
  size_t layer, head;  // from 0
  double queries = 0;
  std::array<double, kPlaces> weight = {};  // means over all queries
  double effective_keys = 0;                // exp(entropy)
  double sink = 0;                          // weight that the sink's logit took
  // Over the queries that see several keys, the first among them: weight of the first key, and the share 1 / keys that it
  // would have if all had the same.
  double several = 0, first_of_several = 0, even_share = 0;

  Place favourite() const;
};
// Every head, over all texts; encoder, decoder, cross.
std::vector<HeadLook> looks_of(const std::vector<AttentionMaps>& texts);

// Of the heads of one layer, by kind and layer: how much of a query's weight two of them place
// differently, half the sum of |p - p'|, as the mean over pairs and queries. 0: all look alike.
struct LayerDistance {
  AttentionMap::Kind kind;
  size_t layer;
  double distance;
};
std::vector<LayerDistance> distances_of(const std::vector<AttentionMaps>& texts);

// "encoder", "layer 2, head 3"
std::string name_of_kind(AttentionMap::Kind kind, const Setting& setting);
std::string name_of_head(const HeadLook& look, const Setting& setting);
std::string name_of_place(size_t place, const Setting& setting);

}  // namespace rapt::insight

#include "rapt/models/model_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "rapt/io/safetensors.h"
#include "rapt/models/tiny_model_test.h"

namespace rapt {
namespace {

using ::testing::AllOf;
using testing::expect_same_bits;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using testing::tiny_config;

class ModelDirectoryTest : public ::testing::Test {
 protected:
  ModelDirectoryTest()
      : folder_(fs::temp_directory_path() / concat("rapt_directory-", ::getpid())) {
    fs::create_directories(folder_);
    std::ofstream(folder_ / "pairs.tsv") << "abc\txyz\nb\txxyy\n";
    std::ofstream(folder_ / "text") << "to be\nor not\n";
  }
  ~ModelDirectoryTest() override { fs::remove_all(folder_); }

  TextProcessor pairs(bool joint = false) const {
    TextOptions options;
    options.joint = joint;
    return TextProcessor::build(options, ParallelCorpus::open({folder_ / "pairs.tsv"}));
  }
  // A saved model, and what was saved.
  Transformer save(const ModelConfig& config, const TextProcessor& text) const {
    Transformer model(config, text.has_source() ? text.source().size() : 0, text.target().size());
    fs::create_directories(directory());
    save_config(directory(), config, text);
    save_weights(directory() / "model.safetensors", model.parameters());
    return model;
  }
  Transformer save() const { return save(tiny_config(), pairs()); }
  fs::path directory() const { return folder_ / "model"; }
  fs::path weights() const { return directory() / "model.safetensors"; }

  void change_config(const std::function<void(Json&)>& change) const {
    Json json = read_json(directory() / "config.json");
    change(json);
    write_json(directory() / "config.json", json);
  }
  void change_weights(const std::function<void(TensorMap&)>& change) const {
    TensorMap tensors = read_safetensors(weights());
    change(tensors);
    write_safetensors(weights(), tensors);
  }
  // Loading fails with a message that names the file and says this.
  void expect_refused(const char* file, const std::string& message) const {
    EXPECT_THAT([&] { load_model(directory()); },
                ThrowsMessage<IoError>(
                    AllOf(HasSubstr((directory() / file).string()), HasSubstr(message))));
  }

  const fs::path folder_;
};

TEST_F(ModelDirectoryTest, AModelComesBackAsItWas) {
  ModelConfig decoder = testing::tiny_decoder_config();
  ModelConfig tied = tiny_config();
  tied.tie = Tie::kAll;
  const auto expect_back = [&](const ModelConfig& config, const TextProcessor& text) {
    const Transformer saved = save(config, text);
    const Model model = load_model(directory());
    EXPECT_EQ(to_json(model.transformer.config()), to_json(config));
    EXPECT_EQ(model.text.to_json(), text.to_json());
    ASSERT_EQ(model.transformer.parameters().size(), saved.parameters().size());
    for (size_t i = 0; i < saved.parameters().size(); ++i) {
      const Parameter &a = model.transformer.parameters()[i], &b = saved.parameters()[i];
      EXPECT_EQ(a.name, b.name);
      expect_same_bits(a.value, b.value);
    }
    fs::remove_all(directory());
  };
  expect_back(tiny_config(), pairs());
  expect_back(tied, pairs(/*joint=*/true));
  expect_back(decoder, TextProcessor::build(SideOptions(), TextStream(folder_ / "text")));
}

TEST_F(ModelDirectoryTest, TheSameModelGivesTheSameBytes) {
  save();
  const std::string config = read_file(directory() / "config.json", 1 << 20);
  const std::string tensors = read_file(weights(), 1 << 20);
  save();
  EXPECT_EQ(read_file(directory() / "config.json", 1 << 20), config);
  EXPECT_EQ(read_file(weights(), 1 << 20), tensors);
}

TEST_F(ModelDirectoryTest, ATiedTensorIsStoredOnceAndReadUnderItsOtherNames) {
  ModelConfig tied = tiny_config();
  tied.tie = Tie::kAll;
  save(tied, pairs(/*joint=*/true));
  const TensorMap stored = read_safetensors(weights());
  EXPECT_TRUE(stored.contains("source_embedding.weight"));
  EXPECT_FALSE(stored.contains("target_embedding.weight"));
  EXPECT_FALSE(stored.contains("output.weight"));
  change_weights([](TensorMap& t) { t["output.weight"] = t["source_embedding.weight"].clone(); });
  EXPECT_NO_THROW(load_model(directory()));
  change_weights([](TensorMap& t) { t["output.weight"].host()[3] += 1; });
  expect_refused("model.safetensors", "tensors output.weight and source_embedding.weight differ");
}

TEST_F(ModelDirectoryTest, TensorsMustBeThoseOfTheConfiguration) {
  save();
  const std::string bytes = read_file(weights(), 1 << 20);
  const auto expect = [&](const std::function<void(TensorMap&)>& change, const char* message) {
    change_weights(change);
    expect_refused("model.safetensors", message);
    write_file(weights(), bytes);
  };
  expect([](TensorMap& t) { t.erase("decoder.layers.1.norm3.bias"); },
         "tensor decoder.layers.1.norm3.bias F32 [12] is missing");
  expect([](TensorMap& t) { t["encoder.layers.2.norm1.bias"] = Tensor::zeros({12}); },
         "tensor encoder.layers.2.norm1.bias F32 [12] is not one of this model's");
  expect([](TensorMap& t) { t["output.bias"] = Tensor::zeros({14}); },
         "tensor output.bias is F32 [14], expected F32 [");
  expect(
      [](TensorMap& t) {
        t["encoder.norm.weight"] = Tensor::zeros({1, 12});
      },
      "tensor encoder.norm.weight is F32 [1, 12], expected F32 [12]");
  EXPECT_NO_THROW(load_model(directory()));
  fs::resize_file(weights(), bytes.size() - 4);
  expect_refused("model.safetensors", "");
  fs::remove(weights());
  expect_refused("model.safetensors", "");
}

TEST_F(ModelDirectoryTest, ConfigurationsAreCheckedKeyByKey) {
  save();
  const std::string text = read_file(directory() / "config.json", 1 << 20);
  const auto expect = [&](const std::function<void(Json&)>& change, const char* message) {
    change_config(change);
    expect_refused("config.json", message);
    write_file(directory() / "config.json", text);
  };
  expect([](Json& j) { j["format_version"] = 3; }, "format_version");
  expect([](Json& j) { j.erase("format_version"); }, "format_version");
  expect([](Json& j) { j["key_heads"] = 2; }, "key_heads");
  expect([](Json& j) { j.erase("final_norm"); }, "final_norm");
  expect([](Json& j) { j["d_model"] = 13; }, "d_model is 13, which 2 heads");
  expect([](Json& j) { j["architecture"] = "decoder"; }, "architecture");
  expect([](Json& j) { j["tie"] = "all"; }, "joint vocabulary");
  EXPECT_NO_THROW(load_model(directory()));
  fs::remove(directory() / "config.json");
  expect_refused("config.json", "");
  fs::remove_all(directory());
  EXPECT_THAT([&] { load_model(directory()); },
              ThrowsMessage<IoError>(
                  AllOf(HasSubstr(directory().string()), HasSubstr("no such model directory"))));
}

TEST_F(ModelDirectoryTest, Version1HasNormOrderAndMeansTheDefaultsOfWhatCameLater) {
  ModelConfig pre = tiny_config();
  pre.residual = Residual::kPre;
  save(pre, pairs());
  const auto of_version_1 = [](Json& j) {
    j["format_version"] = 1;
    j["norm_order"] = j["residual"];
    for (const char* later : {"residual", "norm", "d_k", "d_v", "score"}) j.erase(later);
  };
  change_config(of_version_1);
  EXPECT_EQ(to_json(load_model(directory()).transformer.config()), to_json(pre));
  change_config([](Json& j) { j.erase("tie"); });
  expect_refused("config.json", "tie");
}

// A hostile config.json asks for terabytes: the weights' file is compared first.
TEST_F(ModelDirectoryTest, SizesAreCheckedBeforeMemoryIsAllocated) {
  save();
  change_config([](Json& j) {
    j["d_model"] = 1 << 16;
    j["d_ff"] = 1 << 18;
  });
  MemoryPool::process().trim();
  const size_t before = MemoryPool::process().stats().bytes;
  expect_refused("model.safetensors", "expected F32 [");
  EXPECT_LT(MemoryPool::process().stats().bytes, before + (1 << 20));
}

TEST_F(ModelDirectoryTest, OtherWeightsFitTheSameDirectory) {
  save();
  Transformer other(tiny_config(), pairs().source().size(), pairs().target().size(), {.seed = 9});
  const fs::path checkpoint = folder_ / "other.safetensors";
  save_weights(checkpoint, other.parameters());
  const Model model = load_model(directory(), checkpoint);
  expect_same_bits(model.transformer.parameters()[0].value, other.parameters()[0].value);

  // Into memory that is there already: a trainer's bindings stay.
  Transformer target(tiny_config(), pairs().source().size(), pairs().target().size());
  const float* place = target.parameters()[0].value.data();
  load_weights(checkpoint, target.parameters());
  EXPECT_EQ(target.parameters()[0].value.data(), place);
  expect_same_bits(target.parameters()[0].value, other.parameters()[0].value);
}

TEST_F(ModelDirectoryTest, PackedModelsAreNotSaved) {
  Transformer model = save();
  model.pack();
  EXPECT_THAT([&] { save_weights(weights(), model.parameters()); },
              ThrowsMessage<InvalidArgument>(HasSubstr("is packed for inference")));
  EXPECT_NO_THROW(load_model(directory()));  // the old file is whole
}

}  // namespace
}  // namespace rapt

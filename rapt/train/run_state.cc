#include "rapt/train/run_state.h"

#include <limits>

namespace rapt {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr double kLargest = std::numeric_limits<double>::max();

uint64_t count(const JsonObject& object, std::string_view key) {
  return static_cast<uint64_t>(object.integer(key, 0, kMax));
}

}  // namespace

Json to_json(const RunState& state) {
  Json best;  // null: none yet
  if (state.best.found) {
    best = {{"step", state.best.found->step}, {"value", state.best.found->value}};
  }
  const LogWindow& window = state.window;
  return {{"step", state.step},
          {"applied", state.applied},
          {"epoch", state.epoch},
          {"index", state.index},
          {"skipped", state.skipped},
          {"skipped_in_a_row", state.skipped_in_a_row},
          {"target_tokens", state.target_tokens},
          {"validated", state.validated},
          {"best", best},
          {"worse", state.best.worse},
          {"window",
           {{"updates", window.updates},
            {"target_tokens", window.target_tokens},
            {"nll", window.nll},
            {"objective", window.objective},
            {"grad_norm", window.grad_norm},
            {"experts", to_json(window.experts)}}}};
}

RunState run_state_of_json(const JsonObject& object) {
  object.refuse_unknown({"step", "applied", "epoch", "index", "skipped", "skipped_in_a_row",
                         "target_tokens", "validated", "best", "worse", "window"});
  RunState state;
  state.step = count(object, "step");
  state.applied = count(object, "applied");
  state.epoch = count(object, "epoch");
  state.index = count(object, "index");
  state.skipped = count(object, "skipped");
  state.skipped_in_a_row = count(object, "skipped_in_a_row");
  state.target_tokens = count(object, "target_tokens");
  state.validated = object.boolean("validated");
  if (!object.is_null("best")) {
    const JsonObject best = object.object("best");
    state.best.found = {count(best, "step"), best.number("value", -kLargest, kLargest)};
  }
  state.best.worse = count(object, "worse");
  const JsonObject window = object.object("window");
  state.window = {count(window, "updates"),
                  count(window, "target_tokens"),
                  window.number("nll", -kLargest, kLargest),
                  window.number("objective", -kLargest, kLargest),
                  window.number("grad_norm", 0, kLargest),
                  experts_of_json(window.object("experts"))};
  return state;
}

}  // namespace rapt

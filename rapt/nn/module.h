// What every module has: its place among the parameters of its model. By it a module prints itself
// as those of PyTorch do, with the shapes of its parameters and their number:
//   FeedForward(  # 2099712 parameters
//     activation=relu
//     (linear1): Linear(weight [2048, 512], bias [2048])  # 1050624 parameters
//     (dropout): Dropout(p=0.1)
//     (linear2): Linear(weight [512, 2048], bias [512])  # 1049088 parameters
//   )
// The tree is what was declared in the module's scope, so that nothing can be missing from it.
// Equal neighbours of a list are shown once: "(0-5): 6 x EncoderLayer(".
#pragma once
#include <ostream>
#include <string>
#include <string_view>

#include "rapt/nn/scope.h"

namespace rapt {

// A whole model.
std::ostream& operator<<(std::ostream& out, const ParameterSet& set);

namespace nn {

class Module {
 public:
  const Scope& scope() const { return scope_; }

 protected:
  // Before the members are made, so that the module stands above them.
  Module(const Scope& scope, std::string_view kind, std::string_view settings = {})
      : scope_(scope) {
    scope.describe(kind, settings);
  }
  ~Module() = default;

 private:
  Scope scope_;
};

std::ostream& operator<<(std::ostream& out, const Module& module);

}  // namespace nn
}  // namespace rapt

#include "rapt/nn/module.h"

#include <algorithm>
#include <vector>

#include "rapt/base/check.h"

namespace rapt {
namespace {

struct Node {
  std::string name, kind;
  std::vector<std::string> own;  // settings and parameters
  size_t elements = 0;           // of parameters, here and below
  std::vector<Node> children;

  Node& child(std::string_view child_name) {
    const auto it = std::ranges::find(children, child_name, &Node::name);
    if (it != children.end()) return *it;
    Node& added = children.emplace_back();
    added.name = child_name;
    return added;
  }
};

void add(Node& node, std::string_view path, const ParameterSet::Declaration& d) {
  const size_t dot = path.find('.');
  if (d.parameter != nullptr) {
    const bool tied = d.parameter->name != d.name;  // counted under its first name
    if (!tied && !d.buffer) node.elements += d.parameter->shape().elements();
    if (dot == std::string_view::npos) {
      node.own.push_back(tied ? concat(path, " = ", d.parameter->name)
                              : concat(path, ' ', d.parameter->shape()));
      return;
    }
  } else if (path.empty()) {
    if (!node.kind.empty()) return;
    node.kind = d.kind;
    if (!d.settings.empty()) node.own.push_back(d.settings);
    return;
  }
  const bool last = dot == std::string_view::npos;
  add(node.child(path.substr(0, dot)), last ? std::string_view() : path.substr(dot + 1), d);
}

// All that was declared in the scope `name`.
Node tree_of(const ParameterSet& set, const std::string& name) {
  Node root;
  for (const ParameterSet::Declaration& d : set.declarations()) {
    if (name.empty() || d.name == name) {
      add(root, name.empty() ? d.name : std::string_view(), d);
    } else if (d.name.starts_with(name + ".")) {
      add(root, std::string_view(d.name).substr(name.size() + 1), d);
    }
  }
  return root;
}

std::string text_of(const Node& node, const std::string& indent) {
  const std::string count = concat("  # ", node.elements, " parameters");
  std::string text = node.kind + "(";
  if (node.children.empty()) {
    for (const std::string& item : node.own) text += (&item == &node.own[0] ? "" : ", ") + item;
    return text + ")" + (node.elements > 0 ? count : "");
  }
  const std::string inner = indent + "  ";
  text += count + "\n";
  for (const std::string& item : node.own) text += concat(inner, item, "\n");
  for (size_t i = 0; i < node.children.size();) {
    const std::string shown = text_of(node.children[i], inner);
    size_t end = i + 1;
    while (end < node.children.size() && shown == text_of(node.children[end], inner)) ++end;
    const std::string &first = node.children[i].name, &last = node.children[end - 1].name;
    const bool list = end - i > 1 && first.find_first_not_of("0123456789") == std::string::npos;
    if (!list) end = i + 1;
    const std::string label =
        list ? concat('(', first, '-', last, "): ", end - i, " x ") : concat('(', first, "): ");
    text += concat(inner, label, shown, "\n");
    i = end;
  }
  return text + indent + ")";
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const ParameterSet& set) {
  return out << text_of(tree_of(set, ""), "");
}

std::ostream& nn::operator<<(std::ostream& out, const Module& module) {
  return out << text_of(tree_of(module.scope().set(), module.scope().name()), "");
}

}  // namespace rapt

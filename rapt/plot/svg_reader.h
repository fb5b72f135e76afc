// For tests: reads SVG back as strictly as XML asks, and tells where each element lies.
#pragma once
#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace rapt::plot {

struct SvgElement {
  std::string name;
  std::map<std::string, std::string> attributes;
  std::string text;     // its own character data, entities decoded
  double x = 0, y = 0;  // origin of its coordinates in the picture
  double angle = 0;     // in degrees
  double number(const std::string& key) const {
    size_t used = 0;
    const std::string& value = attributes.at(key);
    const double v = std::stod(value, &used);
    if (used != value.size() || !std::isfinite(v)) throw std::runtime_error(key + "=" + value);
    return v;
  }
  bool has_class(std::string_view wanted) const {
    const auto found = attributes.find("class");
    const std::string all = found == attributes.end() ? "" : ' ' + found->second + ' ';
    return all.find(' ' + std::string(wanted) + ' ') != std::string::npos;
  }
};

// Throws std::runtime_error where the text is not well-formed.
class SvgReader {
 public:
  explicit SvgReader(std::string_view text) : text_(text) {
    std::vector<size_t> open;
    while (at_ < text_.size()) {
      if (text_[at_] != '<') {
        const std::string data = decode(text_.substr(at_, text_.find('<', at_) - at_));
        at_ = std::min(text_.find('<', at_), text_.size());
        if (open.empty() && data.find_first_not_of(" \n") != std::string::npos) fail("loose text");
        if (!open.empty()) elements_[open.back()].text += data;
      } else if (text_.substr(at_, 2) == "</") {
        at_ += 2;
        const std::string name = read_name();
        if (open.empty() || elements_[open.back()].name != name) fail("</" + name + ">");
        expect(">");
        open.pop_back();
      } else {
        ++at_;
        SvgElement element = read_element();
        place(element, open);
        elements_.push_back(std::move(element));
        if (text_.substr(at_, 2) == "/>") {
          at_ += 2;
        } else {
          expect(">");
          open.push_back(elements_.size() - 1);
        }
      }
    }
    if (!open.empty()) fail("<" + elements_[open.back()].name + "> is not closed");
  }

  const std::vector<SvgElement>& elements() const { return elements_; }
  std::vector<SvgElement> named(std::string_view name) const {
    std::vector<SvgElement> out;
    for (const SvgElement& e : elements_) {
      if (e.name == name) out.push_back(e);
    }
    return out;
  }
  // How many text elements say exactly this.
  size_t count_text(std::string_view text) const {
    size_t n = 0;
    for (const SvgElement& e : named("text")) n += e.text == text ? 1 : 0;
    return n;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error("byte " + std::to_string(at_) + ": " + what);
  }
  void expect(std::string_view wanted) {
    if (text_.substr(at_, wanted.size()) != wanted) fail("expected " + std::string(wanted));
    at_ += wanted.size();
  }
  std::string read_name() {
    const size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 ||
                                  text_[at_] == '-' || text_[at_] == ':')) {
      ++at_;
    }
    if (at_ == begin) fail("expected a name");
    return std::string(text_.substr(begin, at_ - begin));
  }
  SvgElement read_element() {
    SvgElement e;
    e.name = read_name();
    while (text_.substr(at_, 1) == " ") {
      ++at_;
      const std::string key = read_name();
      expect("=\"");
      const size_t end = text_.find('"', at_);
      if (end == std::string_view::npos) fail("open attribute");
      if (!e.attributes.emplace(key, decode(text_.substr(at_, end - at_))).second) fail(key);
      at_ = end + 1;
    }
    return e;
  }
  std::string decode(std::string_view raw) const {
    static const std::map<std::string, char> kEntities = {
        {"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"#39", '\''}};
    std::string out;
    for (size_t i = 0; i < raw.size(); ++i) {
      if (raw[i] == '<' || (static_cast<unsigned char>(raw[i]) < 0x20 && raw[i] != '\n')) {
        fail("forbidden character");
      }
      if (raw[i] != '&') {
        out += raw[i];
        continue;
      }
      const size_t end = raw.find(';', i);
      const auto found = end == std::string_view::npos
                             ? kEntities.end()
                             : kEntities.find(std::string(raw.substr(i + 1, end - i - 1)));
      if (found == kEntities.end()) fail("bad entity");
      out += found->second;
      i = end;
    }
    return out;
  }
  // Nested <svg x y> and transforms of the form translate(x y) [rotate(a)].
  void place(SvgElement& e, const std::vector<size_t>& open) const {
    if (!open.empty()) {
      const SvgElement& parent = elements_[open.back()];
      e.x = parent.x;
      e.y = parent.y;
      if (parent.angle != 0) fail("rotated parent");
    }
    if (e.name == "svg" && !open.empty()) {
      e.x += e.number("x");
      e.y += e.number("y");
    }
    const auto transform = e.attributes.find("transform");
    if (transform == e.attributes.end()) return;
    double dx = 0, dy = 0;
    if (std::sscanf(transform->second.c_str(), "translate(%lf %lf) rotate(%lf)", &dx, &dy,
                    &e.angle) < 2) {
      fail("transform " + transform->second);
    }
    e.x += dx;
    e.y += dy;
  }

  std::string_view text_;
  size_t at_ = 0;
  std::vector<SvgElement> elements_;
};

}  // namespace rapt::plot

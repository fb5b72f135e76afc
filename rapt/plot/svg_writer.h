// Elements of SVG, escaped, with coordinates of two decimals. Text stays text: it can be selected
// and searched.
#pragma once
#include <string>
#include <string_view>

namespace rapt::plot {

// & < > " ' as entities; control characters that XML forbids and invalid bytes as visible escapes.
std::string escape_xml(std::string_view text);

// At most two decimals, no trailing zeros. Throws Error when v is not finite: a defect of the
// drawing, never of the data.
std::string coordinate(double v);

enum class Anchor { kStart, kMiddle, kEnd };

// A piece of a picture with its own origin at the upper left.
struct Block {
  double width = 0, height = 0;
  std::string body;
};

class SvgWriter {
 public:
  // `style` is a class of the style sheet in svg.cc. `hover` is what a browser shows under the
  // pointer.
  void rect(double x, double y, double width, double height, std::string_view style,
            std::string_view hover = {});
  void line(double x1, double y1, double x2, double y2, std::string_view style);
  void circle(double x, double y, double radius, std::string_view style,
              std::string_view hover = {});
  void path(std::string_view commands, std::string_view style);  // nothing for no commands
  // y is the baseline. The angle turns clockwise about (x, y), in degrees.
  void text(double x, double y, std::string_view text, std::string_view style,
            Anchor anchor = Anchor::kStart, double angle = 0);
  void block(double x, double y, const Block& block);
  // What is drawn until close() is moved by (x, y) and cut at the size.
  void open_window(double x, double y, double width, double height);
  void close_window();

  Block finish(double width, double height) { return {width, height, std::move(out_)}; }

 private:
  void number(std::string_view name, double v);
  void close(std::string_view element, std::string_view hover);

  std::string out_;
};

}  // namespace rapt::plot

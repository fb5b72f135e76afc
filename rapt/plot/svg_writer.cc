#include "rapt/plot/svg_writer.h"

#include <cmath>
#include <cstdio>

#include "rapt/base/check.h"
#include "rapt/base/utf8.h"

namespace rapt::plot {

std::string escape_xml(std::string_view text) {
  std::string out;
  std::string shown = printable(text, text.size() * 8);
  for (const std::string_view noncharacter : {"\xEF\xBF\xBE", "\xEF\xBF\xBF"}) {  // not XML
    for (size_t at = 0; (at = shown.find(noncharacter, at)) != std::string::npos; at += 3) {
      shown.replace(at, 3, "\xEF\xBF\xBD");
    }
  }
  for (const char c : shown) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string coordinate(double v) {
  check<Error>(std::isfinite(v), "plot: a coordinate is ", v, ", expected a finite one");
  char text[64];
  std::snprintf(text, sizeof text, "%.2f", v);
  std::string out = text;
  out.erase(out.find_last_not_of('0') + 1);
  if (out.back() == '.') out.pop_back();
  return out == "-0" ? "0" : out;
}

void SvgWriter::number(std::string_view name, double v) {
  out_ += concat(' ', name, "=\"", coordinate(v), '"');
}

void SvgWriter::close(std::string_view element, std::string_view hover) {
  out_ += hover.empty() ? std::string("/>\n")
                        : concat("><title>", escape_xml(hover), "</title></", element, ">\n");
}

void SvgWriter::rect(double x, double y, double width, double height, std::string_view style,
                     std::string_view hover) {
  out_ += concat("<rect class=\"", style, '"');
  number("x", x);
  number("y", y);
  number("width", width);
  number("height", height);
  close("rect", hover);
}

void SvgWriter::line(double x1, double y1, double x2, double y2, std::string_view style) {
  out_ += concat("<line class=\"", style, '"');
  number("x1", x1);
  number("y1", y1);
  number("x2", x2);
  number("y2", y2);
  close("line", {});
}

void SvgWriter::circle(double x, double y, double radius, std::string_view style,
                       std::string_view hover) {
  out_ += concat("<circle class=\"", style, '"');
  number("cx", x);
  number("cy", y);
  number("r", radius);
  close("circle", hover);
}

void SvgWriter::path(std::string_view commands, std::string_view style) {
  if (commands.empty()) return;
  out_ += concat("<path class=\"", style, "\" d=\"", commands, "\"/>\n");
}

void SvgWriter::text(double x, double y, std::string_view text, std::string_view style,
                     Anchor anchor, double angle) {
  if (text.empty()) return;
  out_ += concat("<text class=\"", style, '"');
  if (angle == 0) {
    number("x", x);
    number("y", y);
  } else {
    out_ += concat(" transform=\"translate(", coordinate(x), ' ', coordinate(y), ") rotate(",
                   coordinate(angle), ")\"");
  }
  if (anchor != Anchor::kStart) {
    out_ += concat(" text-anchor=\"", anchor == Anchor::kMiddle ? "middle" : "end", '"');
  }
  out_ += concat('>', escape_xml(text), "</text>\n");
}

void SvgWriter::block(double x, double y, const Block& block) {
  out_ += concat("<g transform=\"translate(", coordinate(x), ' ', coordinate(y), ")\">\n",
                 block.body, "</g>\n");
}

void SvgWriter::open_window(double x, double y, double width, double height) {
  out_ += "<svg";
  number("x", x);
  number("y", y);
  number("width", width);
  number("height", height);
  out_ += ">\n";
}

void SvgWriter::close_window() { out_ += "</svg>\n"; }

}  // namespace rapt::plot

#include "rapt/plot/html.h"

#include <algorithm>
#include <string_view>

#include "rapt/base/check.h"
#include "rapt/plot/data.h"
#include "rapt/plot/svg.h"
#include "rapt/plot/svg_writer.h"

namespace rapt::plot {
namespace {

// Line ends stay, unlike in the labels of a picture.
std::string escape_lines(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    out += escape_xml(std::string_view(text).substr(at, end - at)) + '\n';
    at = end + 1;
  }
  return out;
}

constexpr const char* kStyle =
    "body{margin:1.5rem;font-family:'Noto Sans','Noto Sans KR',NanumGothic,sans-serif;"
    "background:#fff;color:#1c1e21}\n"
    "figure{margin:0;overflow-x:auto}pre{font-size:.8rem;overflow-x:auto}\n"
    "@media (prefers-color-scheme:dark){body{background:#15171c;color:#e4e6eb}}\n";

}  // namespace

std::string to_html(const Figure& figure) {
  const std::string title = figure.title.empty() ? "Figure" : escape_xml(figure.title);
  return concat(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>",
      title, "</title>\n<style>\n", kStyle, "</style>\n</head>\n<body>\n<figure>\n", to_svg(figure),
      "</figure>\n<details>\n<summary>Data</summary>\n<pre>", escape_lines(to_csv(figure)),
      "</pre>\n</details>\n<script type=\"application/json\" id=\"figure-data\">\n",
      to_json(figure), "</script>\n</body>\n</html>\n");
}

}  // namespace rapt::plot

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
    "background:#fff;color:#1c1e21;line-height:1.5}\n"
    "p{max-width:48rem}h2{margin-top:2.5rem}.marked{border-left:.3rem solid #d55e00;"
    "padding-left:.7rem}\n"
    "figure{margin:0;overflow-x:auto}pre{font-size:.8rem;overflow-x:auto}\n"
    "@media (prefers-color-scheme:dark){body{background:#15171c;color:#e4e6eb}}\n";

std::string document(const std::string& title, const std::string& language,
                     const std::string& body) {
  return concat("<!DOCTYPE html>\n<html lang=\"", language,
                "\">\n<head>\n<meta charset=\"utf-8\">\n"
                "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
                "<meta name=\"color-scheme\" content=\"light dark\">\n<title>",
                escape_xml(title), "</title>\n<style>\n", kStyle, "</style>\n</head>\n<body>\n",
                body, "</body>\n</html>\n");
}

std::string picture(const Figure& figure, const char* summary) {
  return concat("<figure>\n", to_svg(figure), "</figure>\n<details>\n<summary>", summary,
                "</summary>\n<pre>", escape_lines(to_csv(figure)), "</pre>\n</details>\n");
}

// In JSON < stands in strings alone, and there it must not end the script.
std::string script(const char* id, const std::string& json) {
  std::string safe;
  for (const char c : json) safe += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return concat("<script type=\"application/json\" id=\"", id, "\">\n", safe, "</script>\n");
}

std::string paragraphs(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += concat("<p>", escape_xml(text), "</p>\n");
  return out;
}

}  // namespace

std::string to_html(const Figure& figure) {
  return document(figure.title.empty() ? "Figure" : figure.title, "en",
                  picture(figure, "Data") + script("figure-data", to_json(figure)));
}

std::string to_html(const Page& page) {
  std::string body = concat("<h1>", escape_xml(page.title), "</h1>\n", paragraphs(page.paragraphs));
  const char* summary = page.language == "ko" ? "수치" : "Data";
  for (const Section& section : page.sections) {
    body += concat("<section>\n<h2", section.marked ? " class=\"marked\"" : "", ">",
                   escape_xml(section.heading), "</h2>\n", paragraphs(section.paragraphs),
                   picture(section.figure, summary), "</section>\n");
  }
  return document(page.title, page.language, body + script("page-data", page.data));
}

}  // namespace rapt::plot

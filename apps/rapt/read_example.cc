#include "apps/rapt/read_example.h"

#include "rapt/base/utf8.h"

namespace rapt::app {

Example read_example(const TextProcessor& text, const LineReader& reader, const std::string& line,
                     UnknownSymbols* unknown) {
  Example e;
  check_utf8(line, reader.name(), reader.line());
  e.id = reader.line() - 1;
  if (!text.has_source()) {
    e.target = text.target().encode(line, reader.line(), unknown);
    return e;
  }
  const size_t tab = line.find('\t');
  check<IoError>(tab != std::string::npos && line.find('\t', tab + 1) == std::string::npos,
                 reader.name(), ": line ", reader.line(), " has ",
                 tab == std::string::npos ? "no tab" : "more than one tab",
                 ", expected: input, one tab, output");
  e.source = text.source().encode(line.substr(0, tab), reader.line(), unknown);
  e.target = text.target().encode(line.substr(tab + 1), reader.line(), unknown);
  return e;
}

}  // namespace rapt::app

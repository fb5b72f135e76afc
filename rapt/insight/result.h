// A claim's answer for readers: as text for a terminal, and as JSON for programs.
#pragma once
#include <string>

#include "rapt/insight/claim.h"
#include "rapt/io/json.h"

namespace rapt::insight {

// A number for a sentence or a label: four significant digits, no exponent where none is needed.
std::string show(double v, int digits = 4);

// "Holds: …", "Holds when …" or "Does not hold: …"
std::string verdict_sentence(const Result& result, Language language);

// Title, heads and rows in columns; numbers to the right.
std::string to_text(const Table& table);

// {"numbers": {key: number}, "tables": {name: [{key: cell}]}, "figure": …}; what is not finite is
// null.
Json to_json(const Result& result);

}  // namespace rapt::insight

#include "rapt/text/text_side.h"

#include "rapt/base/check.h"
#include "rapt/base/utf8.h"

namespace rapt {

TextSide::TextSide(SideParts parts) : parts_(std::move(parts)) {
  const SpecialIds& ids = parts_.ids;
  std::vector<bool> control(size());
  const auto mark = [&](int32_t id) { control.at(static_cast<size_t>(id)) = true; };
  if (ids.pad) mark(*ids.pad);
  mark(ids.bos);
  mark(ids.eos);
  for (const int32_t id : ids.suppressed) mark(id);
  control_ = std::make_shared<const std::vector<bool>>(std::move(control));
  newline_ = vocabulary().find(parts_.kind == "bytes" ? "<0x0A>" : "\n");
}

std::vector<int32_t> TextSide::encode(std::string_view line, uint64_t line_number,
                                      UnknownSymbols* unknown) const {
  std::vector<int32_t> ids;
  encode_to(ids, line, line_number, unknown);
  return ids;
}

void TextSide::encode_to(std::vector<int32_t>& ids, std::string_view line, uint64_t line_number,
                         UnknownSymbols* unknown) const {
  if (utf8_valid_prefix(line) != line.size()) {
    check_utf8(line, line_number == 0 ? "text" : concat("line ", line_number), 0);
  }
  std::string buffer;
  const std::string_view text = normalized(line, parts_.normalization, parts_.lower, buffer);
  parts_.tokenizer->split(text, [&](std::string_view piece) {
    const std::optional<int32_t> id = vocabulary().find(piece);
    if (!id && unknown != nullptr) unknown->add(line_number, piece);
    ids.push_back(id.value_or(parts_.ids.unk));
  });
}

std::vector<int32_t> TextSide::encode_text(std::string_view text, UnknownSymbols* unknown) const {
  std::vector<int32_t> ids;
  for (uint64_t line = 1; !text.empty(); ++line) {
    const size_t newline = text.find('\n');
    encode_to(ids, text.substr(0, newline), line, unknown);
    if (newline == std::string_view::npos) break;
    if (!newline_ && unknown != nullptr) unknown->add(line, "\n");
    ids.push_back(newline_.value_or(parts_.ids.unk));
    text.remove_prefix(newline + 1);
  }
  return ids;
}

std::string TextSide::decode(std::span<const int32_t> ids) const {
  // Lines are decoded one by one: a tokeniser's rules for spaces end with the line.
  std::string text;
  std::vector<std::string> pieces;
  const auto end_line = [&] {
    text += joined(parts_.tokenizer->decode(pieces), parts_.join);
    pieces.clear();
  };
  for (const int32_t id : ids) {
    check(id >= 0 && static_cast<size_t>(id) < size(), "decode: id ", id, " of ", size());
    if ((*control_)[static_cast<size_t>(id)]) continue;
    const std::string& symbol = vocabulary().symbol(id);
    if (symbol == "\n") {
      end_line();
      text += '\n';
    } else {
      pieces.push_back(symbol);
    }
  }
  end_line();
  return text;
}

std::string TextSide::reference(std::string_view line) const {
  const std::string text = normalized(line, parts_.normalization, parts_.lower);
  return joined(parts_.tokenizer->decode(parts_.tokenizer->encode(text)), parts_.join);
}

std::string TextSide::display(int32_t id) const {
  check(id >= 0 && static_cast<size_t>(id) < size(), "display: id ", id, " of ", size());
  const std::string& symbol = vocabulary().symbol(id);
  const bool byte = parts_.kind == "bytes" && symbol.starts_with("<0x") && symbol.size() == 6;
  const std::string text = byte ? parts_.tokenizer->decode({&symbol, 1}) : symbol;
  if (byte && text == "\uFFFD") return symbol;
  if (text == " ") return "␣";
  if (text == "\n") return "⏎";
  return printable(text, 40);
}

}  // namespace rapt

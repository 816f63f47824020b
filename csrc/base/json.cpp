#include "base/json.h"

#include <cstdio>

namespace md {
namespace {

// Length of the valid UTF-8 sequence at the start of `text`; 0 if there is none.
size_t sequence_length(std::string_view text) {
  auto byte = [&](size_t at) { return static_cast<unsigned char>(text[at]); };
  unsigned char first = byte(0);
  if (first < 0x80) return 1;
  size_t length = first >= 0xC2 && first < 0xE0   ? 2
                  : first >= 0xE0 && first < 0xF0 ? 3
                  : first >= 0xF0 && first < 0xF5 ? 4
                                                  : 0;
  if (length == 0 || length > text.size()) return 0;
  for (size_t at = 1; at < length; ++at)
    if ((byte(at) & 0xC0) != 0x80) return 0;
  // Overlong encodings, surrogates, beyond the last code point.
  unsigned char second = byte(1);
  if (first == 0xE0 && second < 0xA0) return 0;
  if (first == 0xED && second >= 0xA0) return 0;
  if (first == 0xF0 && second < 0x90) return 0;
  if (first == 0xF4 && second >= 0x90) return 0;
  return length;
}

std::string escaped(char c) {
  switch (c) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\t':
      return "\\t";
    case '\r':
      return "\\r";
    default:
      break;
  }
  if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) return std::string(1, c);
  char text[8];
  std::snprintf(text, sizeof(text), "\\u%04x", static_cast<unsigned>(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace

std::string json_string(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    size_t length = sequence_length(text);
    if (length == 1) {
      out += escaped(text[0]);
    } else if (length == 0) {
      out += "\\ufffd";
      length = 1;
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return out + "\"";
}

std::string json_list(std::span<const std::string> texts) {
  std::string out = "[";
  for (const std::string& text : texts) {
    if (out.size() > 1) out += ", ";
    out += json_string(text);
  }
  return out + "]";
}

JsonObject& JsonObject::add_seconds(std::string_view key, double seconds) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.6f", seconds);
  return add_json(key, text);
}

JsonObject& JsonObject::add_json(std::string_view key, std::string_view json) {
  if (!fields_.empty()) fields_ += ", ";
  fields_ += json_string(key);
  fields_ += ": ";
  fields_ += json;
  return *this;
}

}  // namespace md

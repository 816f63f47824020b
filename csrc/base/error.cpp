#include "base/error.h"

#include <charconv>
#include <sstream>

namespace md {
namespace {

template <typename Number>
void append_digits(std::string& text, Number number) {
  char digits[20];
  text.append(digits, std::to_chars(digits, digits + sizeof(digits), number).ptr);
}

}  // namespace

void append_text(std::string& text, std::string_view part) { text += part; }

void append_character(std::string& text, char part) { text += part; }

void append_integer(std::string& text, int64_t part) { append_digits(text, part); }

void append_unsigned(std::string& text, uint64_t part) { append_digits(text, part); }

void append_float(std::string& text, double part) {
  std::ostringstream out;
  out << part;
  text += out.view();
}

void raise_internal(const char* file, int line, const std::string& message) {
  std::string_view path(file);
  size_t root = path.rfind("csrc/");
  if (root != std::string_view::npos) path.remove_prefix(root + 5);
  throw Error(ErrorKind::Internal, str_cat("bug in minidynamo at ", path, ":", line, ": ", message));
}

}  // namespace md

// The only error type: Error carries the Python exception class that it becomes at the C++/Python boundary.
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace md {

enum class ErrorKind : uint8_t {
  Type,
  Value,
  Runtime,
  Index,
  Key,
  Attribute,
  NotImplemented,
  Memory,
  Overflow,
  Import,         // an optional dependency is missing
  LinearAlgebra,  // singular matrix or failed decomposition: minidynamo.linalg.LinAlgError
  Internal,       // a bug in minidynamo: becomes minidynamo._dynamo.exc.InternalError
};

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

// Append a part to a text as an ostream writes it. Not inline: texts of errors are written in hundreds of places.
void append_text(std::string& text, std::string_view part);
void append_character(std::string& text, char part);
void append_integer(std::string& text, int64_t part);
void append_unsigned(std::string& text, uint64_t part);
void append_float(std::string& text, double part);  // with six digits

template <typename Part>
void append_part(std::string& text, const Part& part) {
  using Type = std::decay_t<Part>;
  if constexpr (std::is_convertible_v<const Part&, std::string_view>) {
    append_text(text, part);
  } else if constexpr (std::is_same_v<Type, char> || std::is_same_v<Type, int8_t> || std::is_same_v<Type, uint8_t>) {
    append_character(text, static_cast<char>(part));
  } else if constexpr (std::is_floating_point_v<Type>) {
    append_float(text, part);
  } else {
    static_assert(std::is_integral_v<Type>);
    if constexpr (std::is_signed_v<Type>) {
      append_integer(text, part);
    } else {
      append_unsigned(text, part);
    }
  }
}

// Concatenates texts, characters and numbers.
template <typename... Parts>
std::string str_cat(const Parts&... parts) {
  std::string text;
  (append_part(text, parts), ...);
  return text;
}

template <typename... Parts>
[[noreturn]] void raise(ErrorKind kind, const Parts&... parts) {
  throw Error(kind, str_cat(parts...));
}

// The format of every user-facing error of an op: "[add] what must hold, with the shapes".
template <typename... Parts>
[[noreturn]] void raise_op(ErrorKind kind, std::string_view op, const Parts&... parts) {
  throw Error(kind, str_cat("[", op, "] ", parts...));
}

[[noreturn]] void raise_internal(const char* file, int line, const std::string& message);

}  // namespace md

// An internal invariant; a violation is a bug, reported as InternalError, never undefined behaviour.
#define MD_ASSERT(condition, ...)                                                              \
  do {                                                                                         \
    if (!(condition)) [[unlikely]]                                                             \
      ::md::raise_internal(__FILE__, __LINE__, ::md::str_cat(#condition, " ", ##__VA_ARGS__)); \
  } while (false)

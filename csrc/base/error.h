// The only error type: Error carries the Python exception class that it becomes at the C++/Python boundary.
#pragma once
#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
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

// Concatenates anything that can be streamed to an ostream.
template <typename... Parts>
std::string str_cat(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
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

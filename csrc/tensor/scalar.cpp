#include "tensor/scalar.h"

#include <bit>
#include <charconv>
#include <cmath>

namespace md {

// Python's repr of a float: shortest round-tripping digits, exponent form from 1e16 on and below 1e-4.
static std::string float_str(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[40];
  double magnitude = std::fabs(value);
  bool scientific = magnitude != 0 && (magnitude >= 1e16 || magnitude < 1e-4);
  auto format = scientific ? std::chars_format::scientific : std::chars_format::fixed;
  std::string text(buffer, std::to_chars(buffer, buffer + sizeof buffer, value, format).ptr);
  if (!scientific && text.find('.') == std::string::npos) text += ".0";
  return text;
}

std::string Scalar::str() const {
  if (symbolic_) return dim_.str();
  switch (kind_) {
    case Kind::Bool:
      return int_ != 0 ? "True" : "False";
    case Kind::Int:
      return large_ ? std::to_string(static_cast<uint64_t>(int_)) : std::to_string(int_);
    case Kind::Float:
      break;
  }
  return float_str(float_);
}

bool identical(const Scalar& a, const Scalar& b) {
  if (a.kind_ != b.kind_ || a.symbolic_ != b.symbolic_ || a.large_ != b.large_) return false;
  if (a.symbolic_) return same(a.dim_, b.dim_);
  if (!a.is_float()) return a.int_ == b.int_;
  if (std::isnan(a.float_) && std::isnan(b.float_)) return true;
  return std::bit_cast<uint64_t>(a.float_) == std::bit_cast<uint64_t>(b.float_);
}

}  // namespace md

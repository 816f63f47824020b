// A Python number as an op argument.
#pragma once
#include <cstdint>
#include <string>

#include "base/error.h"
#include "tensor/dim.h"
#include "tensor/dtype.h"

namespace md {

// Thrown if a shape rule needs the value of a run-time number.
class UnknownScalarError : public Error {
 public:
  UnknownScalarError() : Error(ErrorKind::Runtime, "the sizes of a result depend on a number known at run time only") {}
};

class Scalar {
 public:
  enum class Kind : uint8_t { Bool, Int, Float };
  constexpr Scalar() : kind_(Kind::Int), int_(0) {}
  constexpr Scalar(bool value) : kind_(Kind::Bool), int_(value) {}
  constexpr Scalar(int64_t value) : kind_(Kind::Int), int_(value) {}
  constexpr Scalar(double value) : kind_(Kind::Float), float_(value) {}
  Scalar(int) = delete;  // use int64_t
  // An integer of up to 64 bits.
  static constexpr Scalar natural(uint64_t value) {
    Scalar scalar(static_cast<int64_t>(value));
    scalar.large_ = value > INT64_MAX;
    return scalar;
  }
  // A run-time number of which only the kind is known, and which one it is among the numbers of its maker.
  static constexpr Scalar unknown(Kind kind, int64_t number = -1) {
    Scalar scalar(number);
    scalar.kind_ = kind;
    scalar.unknown_ = true;
    return scalar;
  }
  bool is_unknown() const { return unknown_; }
  int64_t unknown_number() const { return int_; }

  // An integer that is a symbolic size of its capture.
  static Scalar symbolic(Dim dim) {
    if (!dim.is_symbolic()) return Scalar(dim.value());
    Scalar scalar;
    scalar.dim_ = dim;
    scalar.symbolic_ = true;
    return scalar;
  }

  Kind kind() const { return kind_; }
  bool is_symbolic() const { return symbolic_; }
  // The integer, symbolic or not.
  Dim as_dim() const { return symbolic_ ? dim_ : Dim(as_int()); }
  bool is_float() const { return kind_ == Kind::Float; }
  // An integer from 2^63 on, of which as_int() has the 64 bits.
  bool is_large() const { return large_; }
  // Both throw UnknownScalarError if the value is unknown; for a symbolic number they call Dim::value().
  double as_double() const {
    require_known();
    if (is_float()) return float_;
    return large_ ? static_cast<double>(static_cast<uint64_t>(int_)) : static_cast<double>(whole());
  }
  // Truncates; NaN and out-of-range numbers yield INT64_MIN, as in hardware.
  int64_t as_int() const {
    require_known();
    if (!is_float()) return whole();
    return float_ >= -0x1p63 && float_ < 0x1p63 ? static_cast<int64_t>(float_) : INT64_MIN;
  }
  DTypeCategory category() const {
    return kind_ == Kind::Float ? DTypeCategory::Floating
           : kind_ == Kind::Int ? DTypeCategory::Integer
                                : DTypeCategory::Bool;
  }
  std::string str() const;  // as Python prints it: True, 3, 0.1, inf, nan
  // Same kind and same bits: 0.0 and -0.0 differ, a NaN equals itself.
  friend bool identical(const Scalar& a, const Scalar& b);

 private:
  void require_known() const {
    if (unknown_) [[unlikely]]
      throw UnknownScalarError();
  }
  int64_t whole() const {
    if (symbolic_) [[unlikely]]
      return dim_.value();
    return int_;
  }
  Kind kind_;
  bool unknown_ = false;
  bool symbolic_ = false;
  bool large_ = false;
  union {
    int64_t int_;
    double float_;
    Dim dim_;
  };
};

}  // namespace md

#include "tensor/dtype.h"

namespace md {
namespace {

// Drops the low `drop` bits, rounding to nearest, ties to even.
uint32_t round_shift(uint32_t value, int drop) {
  uint32_t half = (1u << (drop - 1)) - 1 + ((value >> drop) & 1);
  return (value + half) >> drop;
}

}  // namespace

bool is_widening(DType from, DType to) {
  if (from == to) return true;
  const DTypeRow &narrow = row(from), &wide = row(to);
  if (is_complex(from)) return is_complex(to) && narrow.digits < wide.digits;
  if (is_complex(to)) return is_widening(from, part_dtype(to));
  if (is_floating(from)) {
    return is_floating(to) && narrow.digits < wide.digits && narrow.exponent_bits <= wide.exponent_bits;
  }
  if (is_floating(to)) return to != DType::float16 && narrow.digits <= wide.digits;
  return narrow.digits <= wide.digits && (!narrow.is_signed || wide.is_signed) && to != DType::bool_;
}

Half Half::from_float(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  uint32_t magnitude = bits & 0x7fffffff;
  uint32_t result;
  if (magnitude > 0x7f800000) {
    result = 0x7e00;  // NaN
  } else if (magnitude >= 0x477ff000) {
    result = 0x7c00;  // rounds above the largest half: infinity
  } else if (magnitude >= 0x38800000) {
    result = round_shift(magnitude - 0x38000000, 13);
  } else if (magnitude < 0x33000000) {
    result = 0;
  } else {
    int exponent = static_cast<int>(magnitude >> 23);
    result = round_shift((magnitude & 0x7fffff) | 0x800000, 126 - exponent);  // subnormal
  }
  return {static_cast<uint16_t>(sign | result)};
}

float Half::to_float() const {
  uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  uint32_t magnitude = bits & 0x7fff;
  if (magnitude >= 0x7c00) return std::bit_cast<float>(sign | 0x7f800000 | ((magnitude & 0x3ff) << 13));
  if (magnitude >= 0x400) return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000));
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(static_cast<float>(magnitude) * 0x1p-24f));
}

BFloat16 BFloat16::from_float(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return {static_cast<uint16_t>((bits >> 16) | 0x40)};
  return {static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16)};
}

}  // namespace md

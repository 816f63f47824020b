#include "tensor/fill.h"

#include <algorithm>
#include <cstring>

#include "tensor/numeric_cast.h"

namespace md {
namespace {

template <typename Word>
void fill_words(const void* src, void* dst, int64_t n) {
  Word value;
  std::memcpy(&value, src, sizeof value);
  std::fill_n(static_cast<Word*>(dst), n, value);
}

}  // namespace

void store_scalar(DType dtype, const Scalar& value, void* dst) {
  switch (dtype) {
#define MD_DTYPE(name, ctype, category, short_name, python_name)                                         \
  case DType::name:                                                                                      \
    *static_cast<ctype*>(dst) =                                                                          \
        value.is_float() ? numeric_cast<ctype>(value.as_double()) : numeric_cast<ctype>(value.as_int()); \
    return;
#include "tensor/dtypes.def"
#undef MD_DTYPE
  }
}

Scalar load_scalar(DType dtype, const void* src) {
  switch (row(dtype).category) {
    case DTypeCategory::Bool:
      return Scalar(*static_cast<const bool*>(src));
    case DTypeCategory::Integer:
      return Scalar(convert_element<int64_t>(dtype, src));
    default:
      return Scalar(convert_element<double>(dtype, src));
  }
}

void fill_elements(DType dtype, const void* src, void* dst, int64_t n) {
  switch (item_size(dtype)) {
    case 1:
      return fill_words<uint8_t>(src, dst, n);
    case 2:
      return fill_words<uint16_t>(src, dst, n);
    case 4:
      return fill_words<uint32_t>(src, dst, n);
    default:
      return fill_words<uint64_t>(src, dst, n);
  }
}

}  // namespace md

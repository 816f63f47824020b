#include "tensor/kernels/index_writes.h"

#include <cstring>
#include <type_traits>

#include "tensor/dtype_dispatch.h"
#include "tensor/fill.h"
#include "tensor/memory_overlap.h"
#include "tensor/numeric_cast.h"
#include "tensor/ops/shape_rules.h"
#include "tensor/simd/copy.h"

namespace md {
namespace {

template <typename T>
void add_typed(void* dst, const void* src) {
  T& to = *static_cast<T*>(dst);
  const T& from = *static_cast<const T*>(src);
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    to = T::from_float(to.to_float() + from.to_float());
  } else if constexpr (is_complex_type<T>) {
    to = {to.re + from.re, to.im + from.im};
  } else if constexpr (std::is_same_v<T, bool>) {
    to = to | from;
  } else if constexpr (std::is_integral_v<T>) {
    to = static_cast<T>(static_cast<uint64_t>(to) + static_cast<uint64_t>(from));
  } else {
    to = to + from;
  }
}

}  // namespace

void start_from_self(const OpCall& call, const Tensor& out) {
  const Tensor& self = tensor_arg(call, 0);
  if (!is_same_view(self, out)) copy_elements(self, out);
}

void copy_run(size_t item, const char* src, char* dst, int64_t n) {
  if (n != 1) {
    std::memcpy(dst, src, static_cast<size_t>(n) * item);
    return;
  }
  switch (item) {
    case 1:
      *dst = *src;
      return;
    case 2:
      std::memcpy(dst, src, 2);
      return;
    case 4:
      std::memcpy(dst, src, 4);
      return;
    case 8:
      std::memcpy(dst, src, 8);
      return;
    default:
      std::memcpy(dst, src, 16);
  }
}

AddElement add_element(DType dtype) {
  if (is_complex(dtype)) return with_any_type(dtype, []<typename T>() -> AddElement { return add_typed<T>; });
  return with_wrapping_type(dtype, []<typename T>() -> AddElement { return add_typed<T>; });
}

OneElement::OneElement(const OpCall& call, const Arg& value, DType dtype, bool checks) {
  if (const Tensor* tensor = std::get_if<Tensor>(&value)) {
    Tensor cast = as_contiguous(*tensor, dtype);
    std::memcpy(bytes, cast->data(), item_size(dtype));
  } else {
    if (checks) require_fits(call, dtype, std::get<Scalar>(value));
    store_scalar(dtype, std::get<Scalar>(value), bytes);
  }
}

}  // namespace md

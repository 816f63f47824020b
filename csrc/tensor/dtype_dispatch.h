// Maps a dtype to the C++ type of its elements.
#pragma once
#include "base/error.h"
#include "tensor/dtype.h"

namespace md {

// Calls f.operator()<T>(), as in with_type(dtype, [&]<typename T>() { ... }): instantiated for every row of dtypes.def
// but the complex ones, which no kernel that calls it takes.
template <typename F>
decltype(auto) with_type(DType dtype, F&& f) {
  switch (dtype) {
#define MD_DTYPE(name, ctype, ...) \
  case DType::name:                \
    return f.template operator()<ctype>();
#define MD_COMPLEX_DTYPE(name, ...) \
  case DType::name:                 \
    break;
#include "tensor/dtypes.def"
#undef MD_DTYPE
  }
  raise(ErrorKind::Internal, "a kernel of real numbers was given ", row(dtype).name);
}

// The same for every row of dtypes.def.
template <typename F>
decltype(auto) with_any_type(DType dtype, F&& f) {
  switch (dtype) {
#define MD_DTYPE(name, ctype, ...) \
  case DType::name:                \
    return f.template operator()<ctype>();
#include "tensor/dtypes.def"
#undef MD_DTYPE
  }
  __builtin_unreachable();
}

// The same where the result does not depend on the sign of integers.
template <typename F>
decltype(auto) with_wrapping_type(DType dtype, F&& f) {
  return with_type(dtype, [&]<typename T>() -> decltype(auto) { return f.template operator()<Wrapping<T>>(); });
}

}  // namespace md

#include "tensor/kernels/index_writes.h"

#include <cstring>

#include "tensor/dtype_dispatch.h"
#include "tensor/fill.h"
#include "tensor/memory_overlap.h"
#include "tensor/ops/shape_rules.h"
#include "tensor/simd/copy.h"

namespace md {
void start_from_self(const OpCall& call, const Tensor& out) {
  const Tensor& self = tensor_arg(call, 0);
  if (!is_same_view(self, out)) copy_elements(self, out);
}

Tensor broadcast_to(const Tensor& tensor, const DimVec& sizes, DType dtype) {
  TensorSpec spec;
  spec.dtype = tensor->dtype();
  spec.sizes = sizes;
  int shift = sizes.size() - tensor->rank();
  for (int i = 0; i < sizes.size(); ++i) {
    bool repeated = i < shift || tensor->sizes()[i - shift] == 1;
    spec.strides.push_back(repeated ? Dim(0) : tensor.spec().strides[i - shift]);
  }
  return as_contiguous(Tensor::view(tensor, spec, tensor->offset()), dtype);
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

template <typename T>
static void add_untyped(void* dst, const void* src) {
  add_to(*static_cast<T*>(dst), *static_cast<const T*>(src));
}

AddElement add_element(DType dtype) {
  if (is_complex(dtype)) return with_any_type(dtype, []<typename T>() -> AddElement { return add_untyped<T>; });
  return with_wrapping_type(dtype, []<typename T>() -> AddElement { return add_untyped<T>; });
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

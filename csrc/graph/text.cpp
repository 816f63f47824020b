#include "graph/text.h"

#include "tensor/fill.h"

namespace md {
namespace {

// The address of element i.
std::byte* element_address(const Tensor& tensor, int64_t i) {
  int64_t offset = 0;
  for (int d = tensor->rank() - 1; d >= 0; --d) {
    offset += i % tensor->sizes()[d] * tensor->strides()[d];
    i /= tensor->sizes()[d];
  }
  return tensor.data<std::byte>() + offset * static_cast<int64_t>(item_size(tensor->dtype()));
}

}  // namespace

const char* scalar_kind_name(Scalar::Kind kind) {
  constexpr const char* names[] = {"bool", "int", "float"};
  return names[static_cast<int>(kind)];
}

Scalar get_element(const Tensor& tensor, int64_t i) { return load_scalar(tensor->dtype(), element_address(tensor, i)); }

void set_element(const Tensor& tensor, int64_t i, const Scalar& value) {
  store_scalar(tensor->dtype(), value, element_address(tensor, i));
}

}  // namespace md

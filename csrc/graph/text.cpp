#include "graph/text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <type_traits>

namespace md {
namespace {

std::string bracketed(const DimVec& dims) {
  std::string text = "[";
  for (int i = 0; i < dims.size(); ++i) text += (i > 0 ? ", " : "") + dims[i].str();
  return text + "]";
}

// The address of element i.
std::byte* element_address(const Tensor& tensor, int64_t i) {
  int64_t offset = 0;
  for (int d = tensor->rank() - 1; d >= 0; --d) {
    offset += i % tensor->sizes()[d] * tensor->strides()[d];
    i /= tensor->sizes()[d];
  }
  return tensor.data<std::byte>() + offset * static_cast<int64_t>(item_size(tensor->dtype()));
}

template <typename T>
Scalar load(const void* address) {
  const T& value = *static_cast<const T*>(address);
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return Scalar(static_cast<double>(value.to_float()));
  } else if constexpr (std::is_same_v<T, bool>) {
    return Scalar(value);
  } else if constexpr (std::is_floating_point_v<T>) {
    return Scalar(static_cast<double>(value));
  } else {
    return Scalar(static_cast<int64_t>(value));
  }
}

template <typename T>
void store(void* address, const Scalar& value) {
  T& target = *static_cast<T*>(address);
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    target = T::from_float(static_cast<float>(value.as_double()));
  } else if constexpr (std::is_same_v<T, bool>) {
    target = value.as_double() != 0;
  } else if constexpr (std::is_floating_point_v<T>) {
    target = static_cast<T>(value.as_double());
  } else {
    target = static_cast<T>(value.as_int());
  }
}

struct ElementAccess {
  Scalar (*load)(const void* address);
  void (*store)(void* address, const Scalar& value);
};

constexpr ElementAccess kAccess[] = {
#define MD_DTYPE(name, ctype, category, short_name, python_name) {load<ctype>, store<ctype>},
#include "tensor/dtypes.def"
#undef MD_DTYPE
};

}  // namespace

std::string scalar_text(const Scalar& scalar) {
  if (scalar.kind() == Scalar::Kind::Bool) return scalar.as_int() != 0 ? "True" : "False";
  if (scalar.kind() == Scalar::Kind::Int) return std::to_string(scalar.as_int());
  double value = scalar.as_double();
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::array<char, 32> buffer;
  auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  std::string text(buffer.data(), end);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

const char* scalar_kind_name(Scalar::Kind kind) {
  constexpr const char* names[] = {"bool", "int", "float"};
  return names[static_cast<int>(kind)];
}

std::string dims_text(std::span<const Dim> dims) {
  std::string text = "(";
  for (size_t i = 0; i < dims.size(); ++i) text += (i > 0 ? ", " : "") + dims[i].str();
  return text + (dims.size() == 1 ? ",)" : ")");
}

std::string spec_text(const TensorSpec& spec) {
  return row(spec.dtype).short_name + bracketed(spec.sizes) + bracketed(spec.strides);
}

Scalar get_element(const Tensor& tensor, int64_t i) {
  return kAccess[static_cast<int>(tensor->dtype())].load(element_address(tensor, i));
}

void set_element(const Tensor& tensor, int64_t i, const Scalar& value) {
  kAccess[static_cast<int>(tensor->dtype())].store(element_address(tensor, i), value);
}

}  // namespace md

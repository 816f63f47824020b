#include "guards/size_place.h"

#include <algorithm>

#include "base/error.h"
#include "guards/tensor_family.h"
#include "tensor/numeric_cast.h"

namespace md {

namespace {

std::optional<int64_t> only_element(const TensorView& view) {
  bool is_whole = row(view.dtype).category == DTypeCategory::Integer && view.dtype != DType::uint64;
  if (!is_whole || std::any_of(view.sizes, view.sizes + view.rank, [](int64_t size) { return size != 1; }))
    return std::nullopt;
  return convert_element<int64_t>(view.dtype, view.data);
}

}  // namespace

std::optional<int64_t> read_size(const SizePlace& place, BorrowedRef object) {
  if (place.dim == SizePlace::kLength)
    return PyDict_CheckExact(object.get()) ? std::optional<int64_t>(PyDict_GET_SIZE(object.get())) : std::nullopt;
  if (place.dim != SizePlace::kNumber) {
    const TensorFamily* family = family_of(object);
    TensorView view;
    if (family == nullptr || !read_view(*family, object, view)) return std::nullopt;
    if (place.dim == SizePlace::kElement) return only_element(view);
    return place.dim < view.rank ? std::optional(view.sizes[place.dim]) : std::nullopt;
  }
  if (!PyLong_CheckExact(object.get())) return std::nullopt;
  int overflow = 0;
  long long number = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (overflow != 0) return std::nullopt;
  return number;
}

std::string name(const SizePlace& place, const Bytecode& bytecode) {
  std::string text = name(place.source, bytecode);
  if (place.dim == SizePlace::kNumber) return text;
  if (place.dim == SizePlace::kLength) return str_cat("len(", text, ")");
  return place.dim == SizePlace::kElement ? text + ".item()" : str_cat(text, ".size()[", place.dim, "]");
}

}  // namespace md

#include "guards/size_place.h"

#include "base/error.h"
#include "guards/tensor_family.h"

namespace md {

std::optional<int64_t> read_size(const SizePlace& place, BorrowedRef object) {
  if (place.dim >= 0) {
    const TensorFamily* family = family_of(object);
    TensorView view;
    if (family == nullptr || !read_view(*family, object, view) || place.dim >= view.rank) return std::nullopt;
    return view.sizes[place.dim];
  }
  if (!PyLong_CheckExact(object.get())) return std::nullopt;
  int overflow = 0;
  long long number = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (overflow != 0) return std::nullopt;
  return number;
}

std::string name(const SizePlace& place, const Bytecode& bytecode) {
  std::string text = name(place.source, bytecode);
  return place.dim < 0 ? text : str_cat(text, ".size()[", place.dim, "]");
}

}  // namespace md

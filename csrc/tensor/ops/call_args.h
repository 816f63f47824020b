// Typed access to the arguments of an OpCall. A wrong type is a bug in the front end: InternalError.
#pragma once
#include <optional>

#include "base/error.h"
#include "tensor/ops/op_row.h"

namespace md {

template <typename T>
const T& arg_as(const OpCall& call, int index) {
  MD_ASSERT(index < static_cast<int>(call.args.size()), "[", call.row.name, "] has too few arguments");
  const T* value = std::get_if<T>(&call.args[static_cast<size_t>(index)]);
  MD_ASSERT(value != nullptr, "[", call.row.name, "] argument ",
            call.row.schema.params[static_cast<size_t>(index)].name, " has the wrong type");
  return *value;
}

inline bool arg_is_none(const OpCall& call, int index) { return is_none(call.args[static_cast<size_t>(index)]); }
template <typename T>
bool arg_is(const OpCall& call, int index) {
  return std::holds_alternative<T>(call.args[static_cast<size_t>(index)]);
}

inline const Tensor& tensor_arg(const OpCall& call, int index) { return arg_as<Tensor>(call, index); }
inline const std::vector<Tensor>& tensors_arg(const OpCall& call, int index) {
  return arg_as<std::vector<Tensor>>(call, index);
}
inline const DimVec& dims_arg(const OpCall& call, int index) { return arg_as<DimVec>(call, index); }
inline const Scalar& scalar_arg(const OpCall& call, int index) { return arg_as<Scalar>(call, index); }
inline int64_t int_arg(const OpCall& call, int index) { return scalar_arg(call, index).as_int(); }
inline Dim dim_arg(const OpCall& call, int index) { return scalar_arg(call, index).as_dim(); }
inline bool bool_arg(const OpCall& call, int index) { return scalar_arg(call, index).as_int() != 0; }
inline std::optional<int64_t> optional_int_arg(const OpCall& call, int index) {
  if (arg_is_none(call, index)) return std::nullopt;
  return int_arg(call, index);
}
inline std::optional<Dim> optional_dim_arg(const OpCall& call, int index) {
  if (arg_is_none(call, index)) return std::nullopt;
  return dim_arg(call, index);
}
inline std::optional<DType> optional_dtype_arg(const OpCall& call, int index) {
  if (arg_is_none(call, index)) return std::nullopt;
  return arg_as<DType>(call, index);
}

}  // namespace md

// Rows of the tables of a tensor family's words, by their names in Python.
#pragma once
#include <string>
#include <string_view>

#include "frontends/tensor_language.h"

namespace md {

// Throw Error(Key) for a name without a row.
TensorCallableKind tensor_callable_kind(std::string_view name);
std::string_view tensor_callable_name(TensorCallableKind kind);
TensorRefusal tensor_refusal(std::string_view name);
ResultLayout result_layout(std::string_view name);
DType dtype_named(std::string_view name);
// A copy that lives as long as the process.
std::string_view kept_name(std::string name);

}  // namespace md
